import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Command, InvalidArgumentError } from 'commander'
import { createShadowRow, deleteShadowRow } from '../api/catalog/shadows/changes.ts'
import { createShadowBody, toShadowRecord } from '../api/catalog/shadows/record.ts'
import { buildReport, type ShadowReport } from '../api/catalog/shadows/report.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { EgressError, sendBuffered } from '../platform/http/egress-client.ts'
import { tryParseJson } from '../platform/json/json.ts'
import { asObject, asObjects, asString, type JsonObject } from '../platform/json/json-values.ts'
import { validateInput } from '../platform/validation/validate-input.ts'
import { listShadowRows, type ShadowRow } from '../storage/shadows/shadow.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  parseList,
  parseName,
  resolveOrganization,
  transactAsCommand,
  UsageError,
} from './command.ts'

interface CreateOptions extends OrgOption {
  name: string
  dailyUsd: number
  share?: number
  models?: string[]
  targetModel?: string
  only?: string[]
  ignore?: string[]
}

interface ReplayOptions extends OrgOption {
  against: string
  key: string
  limit: number
}

export function shadowCommand(run: CommandRunner): Command {
  const shadow = new Command('shadow').description(
    'compare the replies of this gateway with those of another',
  )
  shadow
    .command('list')
    .description('list the shadows')
    .option(...orgFlag)
    .action((options: OrgOption) => run((gateway) => runList(gateway, options)))
  shadow
    .command('create')
    .description('create a shadow')
    .requiredOption('--name <name>', 'name of the shadow', parseName)
    .requiredOption('--daily-usd <amount>', 'what mirrors may cost in a UTC day', parseNumber)
    .option('--share <number>', 'share of the requests to mirror, from 0 to 1 (default: 0)', parseNumber)
    .option('--models <models>', 'mirror only requests for these models', parseList)
    .option('--target-model <model>', 'the model of the mirrors (default: that of the request)')
    .option('--only <providers>', 'send mirrors only to these providers', parseList)
    .option('--ignore <providers>', 'do not send mirrors to these providers', parseList)
    .option(...orgFlag)
    .action((options: CreateOptions) => run((gateway) => runCreate(gateway, options)))
  shadow
    .command('report')
    .description('show how the replies differ')
    .argument('<id>')
    .option('--days <number>', 'comparisons of this many days, at most 30', parseDays, 7)
    .option(...orgFlag)
    .action((id: string, options: OrgOption & { days: number }) =>
      run((gateway) => runReport(gateway, id, options)),
    )
  shadow
    .command('replay')
    .description('compare recorded requests: JSON Lines of exchanges, or of records of LiteLLM')
    .argument('<id>', 'id of the shadow')
    .argument('<file>', 'a file of JSON Lines')
    .requiredOption('--key <key>', 'a management key with the permission shadows:write')
    .option('--against <url>', 'the address of the running server', parseUrl, 'http://127.0.0.1:8080')
    .option('--limit <number>', 'read at most this many lines', parseCount, 10_000)
    .option(...orgFlag)
    .action((id: string, file: string, options: ReplayOptions) =>
      run((gateway) => runReplay(gateway, id, file, options)),
    )
  shadow
    .command('delete')
    .description('delete a shadow and its comparisons')
    .argument('<id>')
    .option(...orgFlag)
    .action((id: string, options: OrgOption) => run((gateway) => runDelete(gateway, id, options)))
  return shadow
}

function parseNumber(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.')
  return value
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

function parseDays(text: string): number {
  const days = parseCount(text)
  if (days > 30) throw new InvalidArgumentError('It must be between 1 and 30.')
  return days
}

function parseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text)) throw new InvalidArgumentError('It must be an address.')
  return text.replace(/\/+$/, '')
}

async function requireShadow(gateway: Gateway, id: string, org: string | undefined): Promise<ShadowRow> {
  const organization = await resolveOrganization(gateway, org)
  const row = (await listShadowRows(gateway.db, organization.id)).find((one) => one.id === id.toLowerCase())
  if (row) return row
  throw new UsageError('The shadow does not exist. Run "shadow list" to see the ids.')
}

async function runList(gateway: Gateway, { org }: OrgOption): Promise<CommandResult> {
  const { id } = await resolveOrganization(gateway, org)
  const value = (await listShadowRows(gateway.db, id)).map(toShadowRecord)
  const lines = value.map(
    (one) =>
      `${one.id}  ${one.name}: ${one.share * 100}% of the requests, ${one.daily_usd} USD a day${one.enabled ? '' : ' (disabled)'}`,
  )
  return { value, text: lines.join('\n') || 'No shadows.' }
}

async function runCreate(gateway: Gateway, options: CreateOptions): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const { name, dailyUsd, share, models, targetModel, only, ignore } = options
  const target = targetModel || only || ignore ? { model: targetModel, only, ignore } : undefined
  const draft = validateInput(
    createShadowBody,
    { name, daily_usd: dailyUsd, share, models, target },
    'shadow',
  )
  const row = await transactAsCommand(gateway, organization.id, (tx, record) =>
    createShadowRow({ gateway, tx, record }, organization.id, draft),
  )
  return { value: toShadowRecord(row), text: `Created ${row.id}.` }
}

async function runDelete(gateway: Gateway, id: string, { org }: OrgOption): Promise<CommandResult> {
  const row = await requireShadow(gateway, id, org)
  await transactAsCommand(gateway, row.organization_id, (tx, record) =>
    deleteShadowRow({ gateway, tx, record }, row),
  )
  return { value: { deleted: row.id }, text: `Deleted ${row.name}.` }
}

async function runReport(
  gateway: Gateway,
  id: string,
  { org, days }: OrgOption & { days: number },
): Promise<CommandResult> {
  const value = await buildReport(gateway, await requireShadow(gateway, id, org), days)
  return { value, text: describeReport(value) }
}

function describeReport(report: ShadowReport): string {
  const { mirrored, identical, differing, skipped, cost_usd, latency_ms, first_token_ms, errors, spend } =
    report
  const times = (label: string, { difference, original, mirror }: ShadowReport['latency_ms']) =>
    difference && original && mirror
      ? [
          `${label}: ${original.p50} ms there, ${mirror.p50} ms here (p50); ${original.p95} and ${mirror.p95} (p95)`,
        ]
      : []
  return [
    `${mirrored} requests compared: ${identical} without a difference.`,
    ...differing.map(({ kind, requests }) => `${kind}: ${requests} differ`),
    ...skipped.map(({ reason, requests }) => `skipped, ${reason}: ${requests}`),
    `cost: ${cost_usd.original} USD there, ${cost_usd.mirror} USD here (${cost_usd.compared} requests)`,
    ...times('latency', latency_ms),
    ...times('first token', first_token_ms),
    ...errors.original.map(({ code, requests }) => `error there, ${code}: ${requests}`),
    ...errors.mirror.map(({ code, requests }) => `error here, ${code}: ${requests}`),
    `mirrors have cost ${spend.today_usd} of ${spend.daily_usd} USD today`,
  ].join('\n')
}

const batchSize = 20
const maxBatchBytes = 4 * 1024 * 1024
const maxLineBytes = 4 * 1024 * 1024
/** How often a batch is sent again whose mirrors must wait. */
const maxRetries = 600
const retryMs = 1000

interface ReplayTotals {
  lines: number
  accepted: number
  skipped: Record<string, number>
}

/** Sends the lines to the server in batches, as fast as it accepts them. */
async function runReplay(
  gateway: Gateway,
  id: string,
  file: string,
  options: ReplayOptions,
): Promise<CommandResult> {
  const row = await requireShadow(gateway, id, options.org)
  if (!existsSync(file)) throw new UsageError(`The file ${file} does not exist.`)
  const totals: ReplayTotals = { lines: 0, accepted: 0, skipped: {} }
  const send = (batch: JsonObject[]) => sendBatch(row.id, batch, options, totals)
  let batch: JsonObject[] = []
  let bytes = 0
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    if (line.trim() === '') continue
    if (++totals.lines > options.limit) break
    const value = line.length > maxLineBytes ? undefined : asObject(tryParseJson(line))
    if (!value) {
      countSkipped(totals, 'invalid')
      continue
    }
    if (batch.length === batchSize || bytes + line.length > maxBatchBytes) {
      await send(batch)
      batch = []
      bytes = 0
    }
    batch.push(value)
    bytes += line.length
  }
  if (batch.length > 0) await send(batch)
  const skipped = Object.entries(totals.skipped).map(([reason, count]) => `${reason}: ${count}`)
  const text = `${totals.accepted} requests are mirrored${skipped.length > 0 ? `; skipped ${skipped.join(', ')}` : ''}. Run "shadow report ${row.id}".`
  return { value: totals, text, ...(totals.accepted === 0 && { exitCode: 1 }) }
}

function countSkipped({ skipped }: ReplayTotals, reason: string): void {
  skipped[reason] = (skipped[reason] ?? 0) + 1
}

async function sendBatch(
  id: string,
  batch: readonly JsonObject[],
  options: ReplayOptions,
  totals: ReplayTotals,
): Promise<void> {
  let left = batch
  for (let retry = 0; left.length > 0; retry++) {
    const reply = await post(`${options.against}/api/v1/shadows/${id}/exchanges`, options.key, left)
    const skipped = asObjects(reply.skipped)
    totals.accepted += left.length - skipped.length
    const mayRetry = retry < maxRetries
    const waiting = skipped.filter(({ reason }) => reason === 'queue_full' && mayRetry)
    for (const one of skipped) if (!waiting.includes(one)) countSkipped(totals, asString(one.reason) ?? '')
    const indexes = new Set(waiting.map(({ index }) => index))
    left = left.filter((_, index) => indexes.has(index))
    if (left.length > 0) await Bun.sleep(retryMs)
  }
}

async function post(url: string, key: string, body: readonly JsonObject[]): Promise<JsonObject> {
  const { hostname, port, protocol } = new URL(url)
  const host = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`
  const { status, bytes } = await sendBuffered(
    {
      url,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    },
    // The operator entered the address, usually that of this machine.
    { allowPrivate: [host], timeoutMs: 120_000, maxBytes: 8 * 1024 * 1024 },
  ).catch((error: unknown) => {
    throw error instanceof EgressError ? new UsageError(error.message) : error
  })
  const reply = asObject(tryParseJson(new TextDecoder().decode(bytes))) ?? {}
  if (status === 202) return reply
  const message = asString(asObject(reply.error)?.message)
  throw new UsageError(message ?? `The server replied with status ${status}.`)
}
