"""Tables: what they are (`layout`), those of characteristic times (`columns`, `rows`), and `formats` of any."""
