"""FLOPs and compulsory bytes of a recorded operator, where its recorded shapes say them for certain."""
