@rem The scripts of package.json begin with "exec", so that signals reach Node under a POSIX shell. This is "exec" on Windows.
@%*
