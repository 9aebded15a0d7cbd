"""Time gzip at four levels, in turn, as for models/gzip-timings.csv: python analysis/gzip_timings.py [--runs N]

The text is two million characters of words drawn by a fixed seed, so that anybody can make it; the seconds are those of
the machine that it runs on.
"""

import argparse
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from fastest_command import clock

LEVELS = (1, 4, 6, 9)


def write_words(path: Path, characters: int = 2_000_000) -> None:
    """Words of a made-up language, the frequent ones much more frequent than the others."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(5000)]
    drawn = rng.choices(words, weights=[1 / (rank + 1) for rank in range(len(words))], k=characters // 4)
    path.write_text(" ".join(drawn)[:characters])


def main() -> None:
    """Print rows of arm and reward, the seconds of a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    runs = parser.parse_args().runs
    print("arm,reward")
    with TemporaryDirectory() as folder:
        text = Path(folder, "words.txt")
        write_words(text)
        for _ in range(runs):
            for level in LEVELS:
                print(f"gzip -{level},{clock(f'exec gzip -{level} -c {text}', limit=5):.4f}")


if __name__ == "__main__":
    main()
