import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { tryLockDataDir } from '../gateway/data-dir.ts'
import { loadConfig } from '../gateway/secret-managers/resolve.ts'
import { supervisorFilePath } from '../supervisor/pid-file.ts'
import { type CommandResult, UsageError } from './command.ts'

export function restartCommand(print: (result: CommandResult) => void): Command {
  return new Command('restart')
    .description('restart the workers of the running server (HEADGATE_WORKERS), one at a time')
    .action(async () => print(requestRestart((await loadConfig()).dataDir)))
}

function requestRestart(dataDir: string): CommandResult {
  const unlock = tryLockDataDir(dataDir)
  unlock?.()
  const [pid, holder] = [supervisorFilePath(dataDir), join(dataDir, 'headgate.pid')].map(readPid)
  // The file may be what a crash has left, and its pid that of another program.
  if (unlock || !pid || pid !== holder)
    throw new UsageError(
      `No server with several workers uses ${dataDir}. A server with one process is stopped and started again.`,
    )
  process.kill(pid, 'SIGUSR2')
  return {
    value: { requested: true, pid },
    text: 'The workers restart one at a time. The log has "workers restarted" at the end.',
  }
}

function readPid(path: string): number | null {
  return existsSync(path) ? Number(readFileSync(path, 'utf8')) : null
}
