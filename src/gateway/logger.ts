import { type Logger, pino } from 'pino'
import type { Config } from '../config.ts'

export function createLogger({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  const options = { level: logLevel, base: null, serializers: { err: serializeError } }
  return pino(options, pino.destination(2))
}

/** Other properties of an error may contain what a client sent. */
export function serializeError(error: unknown) {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack } = error
  return { name, message, stack, ...('code' in error && { code: error.code }) }
}
