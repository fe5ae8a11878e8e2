import { rmSync, writeFileSync } from 'node:fs'
import { type Config, ConfigError } from '../config.ts'
import { lockDataDir, prepareDataDir } from '../gateway/data-dir.ts'
import { createLogger } from '../gateway/logger.ts'
import { openSharedSocket } from '../platform/process/listening-socket.ts'
import { waitForStopSignal } from '../platform/process/stop-signal.ts'
import { rootCauseMessage } from '../platform/root-cause.ts'
import { supervisorFilePath } from './pid-file.ts'
import { Supervisor } from './supervisor.ts'

/** Runs the workers of a server until a stop signal. */
export async function supervise(config: Config): Promise<void> {
  prepareDataDir(config.dataDir)
  const unlock = lockDataDir(config.dataDir)
  const socket = openSocket(config)
  const log = createLogger(config)
  const supervisor = new Supervisor({ config, log, socket })
  const stopped = waitForStopSignal(() => supervisor.kill())
  process.on('SIGHUP', () => supervisor.reload())
  process.on('SIGUSR2', () => void supervisor.restartWorkers())
  const pidFile = supervisorFilePath(config.dataDir)
  writeFileSync(pidFile, String(process.pid))
  try {
    const started = supervisor.start((message) => process.stdout.write(message))
    // A stop during the start rejects it.
    const outcome = await Promise.race([
      stopped.then(() => 'stopped' as const),
      Promise.all([started, supervisor.failed]).then(() => 'failed' as const),
    ])
    if (outcome === 'failed') throw new ConfigError('No worker can be started: see the log.')
  } finally {
    await supervisor.stop()
    rmSync(pidFile, { force: true })
    unlock()
  }
}

function openSocket({ host, port }: Config): ReturnType<typeof openSharedSocket> {
  try {
    return openSharedSocket(host, port)
  } catch (error) {
    throw new ConfigError(`Cannot listen on ${host}:${port}: ${rootCauseMessage(error)}`)
  }
}
