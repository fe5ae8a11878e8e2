import { ClickHouseClient } from '../../analytics/clickhouse/client.ts'
import { openConnection, withTimeout } from '../../cluster/connection.ts'
import type { Config } from '../../config.ts'
import type { Settings } from '../../gateway/settings.ts'
import { verifyMailServer } from '../../platform/mail/mailer.ts'
import { rootCauseMessage } from '../../platform/root-cause.ts'
import { findBucket } from '../../storage/file-storage.ts'
import { type CheckResult, failed, passed } from './check-result.ts'

const check = 'services'
const clickHouseTimeoutMs = 5000

interface Service {
  name: string
  /** Connects with the credentials, and changes nothing. */
  connect(): Promise<unknown>
  remedy: string
}

/** The servers besides the database that are configured. */
export async function checkServices(config: Config, settings: Settings | null): Promise<CheckResult[]> {
  const services = [...listConfigured(config), ...(settings ? listInSettings(settings) : [])]
  if (services.length === 0)
    return [passed(check, 'No other server is configured: no Redis, ClickHouse, object storage or mail.')]
  return Promise.all(services.map(checkService))
}

async function checkService({ name, connect, remedy }: Service): Promise<CheckResult> {
  const startedAt = performance.now()
  try {
    await connect()
    return passed(check, `${name} responds (${Math.round(performance.now() - startedAt)} ms).`)
  } catch (error) {
    const reason = rootCauseMessage(error).replaceAll('\n', ' ').replace(/\.$/, '')
    return failed(check, `${name} cannot be used: ${reason}.`, remedy)
  }
}

function listConfigured({ redis, clickhouse }: Config): Service[] {
  const services: Service[] = []
  if (redis)
    services.push({
      name: 'The server of REDIS_URL',
      connect: async () => {
        const connection = await openConnection(redis, () => undefined)
        try {
          await withTimeout(connection.send(redis.prefix, ['EXISTS', `${redis.prefix}:doctor`]))
        } finally {
          connection.close()
        }
      },
      remedy:
        'Check that it runs, that this machine may connect to it, and the address and password in REDIS_URL.',
    })
  if (clickhouse)
    services.push({
      name: 'ClickHouse',
      connect: () =>
        new ClickHouseClient(clickhouse).query('select count() from system.tables', {
          timeoutMs: clickHouseTimeoutMs,
        }),
      remedy:
        'Check that it runs, that this machine may connect to it, and the address, database, user and password in CLICKHOUSE_URL.',
    })
  return services
}

function listInSettings(settings: Settings): Service[] {
  const bucket = findBucket({ settings })
  const { smtp } = settings
  const services: Service[] = []
  if (bucket)
    services.push({
      name: 'The bucket of files.s3',
      connect: () => bucket.list('doctor/').next(),
      remedy:
        'Check the endpoint, the bucket, the region and the access key of files.s3 in headgate.yaml. The key needs to list, read, write and delete.',
    })
  if (smtp)
    services.push({
      name: 'The mail server',
      connect: () => verifyMailServer(smtp),
      remedy: 'Check host, port, tls, user and password of smtp in headgate.yaml.',
    })
  return services
}
