import { availableParallelism } from 'node:os'
import { ConfigError, type Environment, readInteger } from './values.ts'

/** Processes that serve one port. */
export interface WorkersConfig {
  /** 1: this process serves alone. */
  count: number
  /** The number of this process among them, from 1; null in the process that starts them, and without them. */
  own: number | null
}

/** Set by the process that starts workers. */
export const workerVariable = 'HEADGATE_WORKER'

const maxWorkers = 128

export function readWorkers(environment: Environment, isPostgres: boolean): WorkersConfig {
  const count = readCount(environment.HEADGATE_WORKERS, isPostgres)
  if (count > 1 && !isPostgres)
    throw new ConfigError(
      `HEADGATE_WORKERS is ${count}, and one process at a time can use a SQLite database. Set DATABASE_URL to PostgreSQL, or remove HEADGATE_WORKERS.`,
    )
  if (count > 1 && process.platform !== 'linux')
    throw new ConfigError(
      `HEADGATE_WORKERS is ${count}, and several processes can share a port on Linux only. Remove it, or run one server per port behind a balancer.`,
    )
  const own = environment[workerVariable]
  return { count, own: own && count > 1 ? readInteger(workerVariable, own, 1, [1, count]) : null }
}

/** `auto` is as many as are useful: one where there cannot be more. */
function readCount(text: string | undefined, isPostgres: boolean): number {
  if (text !== 'auto') return readInteger('HEADGATE_WORKERS', text, 1, [1, maxWorkers])
  return isPostgres && process.platform === 'linux' ? Math.min(maxWorkers, availableParallelism()) : 1
}
