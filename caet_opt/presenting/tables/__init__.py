"""Tables: what they are (`layout`), those of characteristic times (`columns`, `rows`, `work`), and `formats` of any."""
