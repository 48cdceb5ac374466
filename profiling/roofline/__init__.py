"""Against which ceilings: the roofline, data sheets, and ceilings kept between runs."""
