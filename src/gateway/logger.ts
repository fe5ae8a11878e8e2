import { type Logger, pino } from 'pino'
import type { Config } from '../config.ts'
import { setLogLevels } from '../platform/logging/subsystem-log.ts'
import type { Settings } from './settings.ts'

export function createLogger({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  const options = { level: logLevel, base: null, serializers: { err: serializeError } }
  return pino(options, pino.destination(2))
}

/** The log of a server, with the levels of headgate.yaml. */
export function openLog(config: Pick<Config, 'logLevel'>, settings: Pick<Settings, 'logging'>): Logger {
  const log = createLogger(config)
  applyLogLevels(log, config, settings)
  return log
}

/** Sets the levels of the log and its subsystems: those of headgate.yaml, or LOG_LEVEL. */
export function applyLogLevels(
  log: Logger,
  { logLevel }: Pick<Config, 'logLevel'>,
  { logging }: Pick<Settings, 'logging'>,
): void {
  setLogLevels(log, { level: logging.level ?? logLevel, subsystems: logging.subsystems })
}

/** Other properties of an error may contain what a client sent. */
export function serializeError(error: unknown) {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack } = error
  return { name, message, stack, ...('code' in error && { code: error.code }) }
}
