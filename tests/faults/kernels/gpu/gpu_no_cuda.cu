this is no source;
