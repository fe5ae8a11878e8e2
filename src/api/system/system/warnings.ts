import type { Gateway } from '../../../gateway/gateway.ts'
import { isPostgresUrl } from '../../../platform/db/db.ts'

export interface Warning {
  code: string
  message: string
}

/** Lists warnings for an operator who is about to rely on the installation. */
export function listWarnings({ config, settings, ledger }: Gateway, nodes: number): Warning[] {
  const isEmbedded = !isPostgresUrl(config.databaseUrl)
  const warnings: (Warning | false)[] = [
    ledger.downSince !== null && {
      code: 'ledger_down',
      message: 'The ledger cannot be written: requests to models fail with 503 until it can.',
    },
    isEmbedded && {
      code: 'embedded_database',
      message:
        'The database is a SQLite file in the data directory, which one node can use. For several nodes, set DATABASE_URL to PostgreSQL.',
    },
    nodes > 1 &&
      settings.files.s3 === null && {
        code: 'files_on_one_node',
        message:
          'Several nodes share the database, and uploaded files are in the data directory of the node that received them. Set files.s3, or share the directory.',
      },
    nodes > 1 &&
      config.secretKey === null && {
        code: 'secret_key_in_file',
        message:
          'Several nodes share the database, and the secret key of this one is in its data directory. Set HEADGATE_SECRET_KEY on all of them.',
      },
    config.redisUrl !== null && {
      code: 'redis_not_used',
      message: 'REDIS_URL is set, but nothing uses Redis yet.',
    },
    settings.public_url === undefined &&
      isPublicHost(config.host) && {
        code: 'public_url_missing',
        message:
          'The server accepts connections from other machines, and public_url is not set: links in replies name the host that a request names.',
      },
  ]
  return warnings.filter((warning) => warning !== false)
}

function isPublicHost(host: string): boolean {
  return !['127.0.0.1', '::1', 'localhost'].includes(host)
}
