"""What is asked: families, tasks, the model, model files, exact decimals."""
