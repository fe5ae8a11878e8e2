import type { Gateway } from '../../../gateway/gateway.ts'
import { isPostgresUrl } from '../../../platform/db/db.ts'

export interface Warning {
  code: string
  message: string
}

/** Lists warnings for an operator who is about to rely on the installation. */
export function listWarnings(
  { config, settings, ledger, cluster, replica, clickhouse }: Gateway,
  nodes: number,
): Warning[] {
  const isEmbedded = !isPostgresUrl(config.databaseUrl)
  // The workers of this server share its data directory and its limits.
  const isSeveral = nodes > config.workers.count
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
    isSeveral &&
      settings.files.s3 === null && {
        code: 'files_on_one_node',
        message:
          'Several nodes share the database, and uploaded files are in the data directory of the node that received them. Set files.s3, or share the directory.',
      },
    isSeveral &&
      config.secretKey === null && {
        code: 'secret_key_in_file',
        message:
          'Several nodes share the database, and the secret key of this one is in its data directory. Set HEADGATE_SECRET_KEY on all of them.',
      },
    isSeveral &&
      config.redis === null && {
        code: 'limits_per_node',
        message:
          'Several nodes share the database, and each counts rate limits, cooldowns and cached replies alone. Set REDIS_URL on all of them to share these.',
      },
    !cluster.status.isConnected && {
      code: 'redis_unavailable',
      message:
        'The server of REDIS_URL does not answer. Until it does, each node admits its share of every rate limit, and changes by other nodes take up to two seconds.',
    },
    replica !== null &&
      replica.status.problem !== null && {
        code: 'replica_unavailable',
        message: `Analytics are read from DATABASE_URL, because the database of DATABASE_REPLICA_URL cannot be used: ${replica.status.problem}.`,
      },
    clickhouse?.status.isConnected === false && {
      code: 'clickhouse_unavailable',
      message: `Generations are not sent to ClickHouse: ${clickhouse.status.problem}. Until they are, they wait in the database, and analytics are read from it.`,
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
