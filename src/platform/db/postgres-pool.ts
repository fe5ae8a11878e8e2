import { SQL } from 'bun'

interface PoolOptions {
  max: number
  /** Seconds. */
  connectionTimeout: number
}

const prepareParameter = /([?&])prepare=(true|false)(?:&|$)/

/**
 * Connections to PostgreSQL. With `?prepare=false` in the URL, statements have no names: behind a pooler in transaction
 * mode, the next one may be sent to another server process, which does not know them.
 */
export function openPool(url: string, options: PoolOptions): SQL {
  const prepare = prepareParameter.exec(url)?.[2] !== 'false'
  // The server would reject a parameter that it does not know.
  const address = url.replace(prepareParameter, '$1').replace(/[?&]$/, '')
  return new SQL(address, { ...options, prepare, bigint: true })
}
