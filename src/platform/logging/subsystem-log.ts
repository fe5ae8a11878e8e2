import type { Level, Logger } from 'pino'

/** Parts of the server whose lines have a level of their own. Lines of the rest have no `subsystem`. */
export const subsystems = [
  'audit',
  'cluster',
  'delivery',
  'http',
  'identity',
  'inference',
  'jobs',
  'ledger',
] as const

export type Subsystem = (typeof subsystems)[number]
type LogLevel = Level | 'silent'

export interface LogLevels {
  level: LogLevel
  /** Those of subsystems, where they differ. */
  subsystems: Readonly<Partial<Record<Subsystem, LogLevel>>>
}

interface LogState {
  levels: Partial<LogLevels>
  logs: Map<Subsystem, Logger>
}

const states = new WeakMap<Logger, LogState>()

/** The log of a subsystem: the same object each time, so that its level can change while components hold it. */
export function subsystemLog(log: Logger, subsystem: Subsystem): Logger {
  const { logs, levels } = stateOf(log)
  const known = logs.get(subsystem)
  if (known) return known
  const created = log.child({ subsystem }, { level: levels.subsystems?.[subsystem] ?? log.level })
  logs.set(subsystem, created)
  return created
}

export function setLogLevels(log: Logger, levels: LogLevels): void {
  const state = stateOf(log)
  state.levels = levels
  log.level = levels.level
  for (const [subsystem, each] of state.logs) each.level = levels.subsystems[subsystem] ?? levels.level
}

function stateOf(log: Logger): LogState {
  const known = states.get(log)
  if (known) return known
  const created: LogState = { levels: {}, logs: new Map() }
  states.set(log, created)
  return created
}
