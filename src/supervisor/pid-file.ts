import { join } from 'node:path'

/** Has the pid of the process that restarts its workers at SIGUSR2; a server with one process has no such file. */
export function supervisorFilePath(dataDir: string): string {
  return join(dataDir, 'supervisor.pid')
}
