import { Command, InvalidArgumentError } from 'commander'
import { ClickHouseClient } from '../analytics/clickhouse/client.ts'
import { countQueue, deleteStream, findStream, repeatBackfill } from '../analytics/clickhouse/stream-store.ts'
import { dropTables } from '../analytics/clickhouse/tables.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { isUtcTimestamp } from '../platform/time/time.ts'
import { type CommandResult, type CommandRunner, UsageError } from './command.ts'

interface BackfillOptions {
  since?: string
}

const maxCounted = 10_000_000

export function clickhouseCommand(run: CommandRunner): Command {
  const clickhouse = new Command('clickhouse').description(
    'inspect and repair the copy of all generations in ClickHouse (CLICKHOUSE_URL)',
  )
  clickhouse
    .command('status')
    .description('print what ClickHouse has, and what waits for it')
    .action(() => run(readStatus))
  clickhouse
    .command('backfill')
    .description('have the running server send stored generations once more')
    .option('--since <time>', 'only those that ended after this UTC time', parseTime)
    .action((options: BackfillOptions) => run((gateway) => runBackfill(gateway, options)))
  clickhouse
    .command('reset')
    .description('delete the tables in ClickHouse; a running server fills them again')
    .action(() => run(runReset))
  return clickhouse
}

function parseTime(text: string): string {
  if (isUtcTimestamp(text)) return new Date(text).toISOString()
  throw new InvalidArgumentError('It must be a UTC time with seconds, such as 2028-03-01T00:00:00Z.')
}

async function readStatus({ db, config }: Gateway): Promise<CommandResult> {
  const stream = await findStream(db)
  const queued = await countQueue(db, maxCounted)
  const value = {
    configured: config.clickhouse !== null,
    covered_from: stream?.covered_from ?? null,
    backfilled: stream?.is_backfilled === 1,
    backfill_position: stream?.backfill_position ?? null,
    queued,
    exported: stream?.exported ?? 0,
    exported_at: stream?.exported_at ?? null,
  }
  const lines = Object.entries(value).map(
    ([name, found]) => `${name.replaceAll('_', ' ')}: ${found ?? 'none'}`,
  )
  return { value, text: lines.join('\n') }
}

async function runBackfill({ db }: Gateway, { since = '' }: BackfillOptions): Promise<CommandResult> {
  if (!(await repeatBackfill(db, since)))
    throw new UsageError(
      'The first backfill has not ended: start the server with CLICKHOUSE_URL, and see: headgate clickhouse status',
    )
  return {
    value: { since: since || null },
    text: 'The server sends the generations again, the newest first.',
  }
}

async function runReset({ db, config }: Gateway): Promise<CommandResult> {
  if (!config.clickhouse) throw new UsageError('Set CLICKHOUSE_URL to the database to reset.')
  await deleteStream(db)
  await dropTables(new ClickHouseClient(config.clickhouse))
  return { value: { reset: true }, text: 'The tables are deleted. A running server fills them again.' }
}
