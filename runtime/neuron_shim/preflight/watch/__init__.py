"""What is watched in the process of the script. Each module here installs itself and writes to the journal."""
