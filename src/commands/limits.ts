import { Command, InvalidArgumentError, Option } from 'commander'
import { toAnyLimitRecord } from '../api/spending/limits/attached.ts'
import { createLimitRow, deleteLimitRow, prepareLimit } from '../api/spending/limits/changes.ts'
import { createLimitBody, type LimitRecord } from '../api/spending/limits/record.ts'
import { toLimitRecord } from '../api/spending/limits/store.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { listAllLimits } from '../governance/limits/attached-limit-store.ts'
import { limitMeasures, limitWindows } from '../governance/limits/limit-rule.ts'
import { findLimit } from '../governance/limits/store.ts'
import { findMemberByEmail } from '../identity/members.ts'
import { requireWorkspace } from '../identity/workspaces.ts'
import type { Db } from '../platform/db/db.ts'
import { validateInput } from '../platform/validation/validate-input.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  parseEmail,
  parseList,
  parseName,
  resolveOrganization,
  transactAsCommand,
  UsageError,
} from './command.ts'
import { parseHash, requireKeyByPrefix } from './keys.ts'

interface MatchOptions {
  workspace?: string
  member?: string
  key?: string
  tier?: string
  endUser?: string
  tags?: string[]
  models?: string[]
  providers?: string[]
}

interface LimitOptions extends OrgOption, MatchOptions {
  name: string
  measure: string
  window?: string
  amount: number
  per?: string[]
  includeByok?: boolean
}

/** More than an organization has, unless its operator allows it. */
const maxListed = 20_000

export function limitsCommand(run: CommandRunner): Command {
  const limits = new Command('limits').description('limit spending, requests, tokens and concurrent requests')
  limits
    .command('create')
    .description('create a limit')
    .requiredOption('--name <name>', 'name of the limit', parseName)
    .addOption(
      new Option('--measure <measure>', 'what is limited').choices(limitMeasures).makeOptionMandatory(),
    )
    .requiredOption('--amount <number>', 'US dollars, or a whole number of requests or tokens', parseNumber)
    .addOption(
      new Option('--window <window>', 'window of the amount (not for concurrent_requests)').choices(
        limitWindows,
      ),
    )
    .option('--workspace <id or slug>', 'requests in this workspace')
    .option('--member <email>', 'requests with keys that this member created', parseEmail)
    .option(
      '--key <hash>',
      'requests with this key, by its hash or a prefix of at least 8 characters',
      parseHash,
    )
    .option('--tier <name>', 'requests with keys of this tier')
    .option('--end-user <id>', 'requests for this end user')
    .option('--tags <tags>', 'requests that have all of these tags, such as project=apollo', parseList)
    .option('--models <models>', 'requests that one of these models serves, such as openai/*', parseList)
    .option('--providers <slugs>', 'requests that one of these providers serves', parseList)
    .option('--per <dimensions>', 'what is counted separately, such as key or end_user,model', parseList)
    .option('--include-byok', 'count dollars of requests with BYOK keys, at list prices')
    .option(...orgFlag)
    .action((options: LimitOptions) => run((gateway) => runCreate(gateway, options)))
  limits
    .command('list')
    .description('list the limits of an organization')
    .option(...orgFlag)
    .action((options: OrgOption) => run((gateway) => runList(gateway, options)))
  limits
    .command('delete')
    .description('delete a limit, by its id')
    .argument('<id>')
    .option(...orgFlag)
    .action((id: string, options: OrgOption) => run((gateway) => runDelete(gateway, id, options)))
  return limits
}

function parseNumber(text: string): number {
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number, such as 100 or 0.5.')
}

async function runCreate(gateway: Gateway, options: LimitOptions): Promise<CommandResult> {
  const { db } = gateway
  const { id: organizationId } = await resolveOrganization(gateway, options.org)
  const { name, measure, window, amount, includeByok, per } = options
  const body = {
    ...{ name, measure, window, amount, include_byok: includeByok, per },
    match: await resolveMatch(db, organizationId, options),
  }
  const prepared = await prepareLimit(db, organizationId, validateInput(createLimitBody, body, 'limit'))
  const row = await transactAsCommand(gateway, organizationId, (tx, record) =>
    createLimitRow({ gateway, tx, record }, prepared),
  )
  const value = await toLimitRecord(db, row)
  return { value, text: `Created ${row.id}: ${describeLimit(value)}.` }
}

async function resolveMatch(db: Db, organizationId: string, options: MatchOptions) {
  const { workspace, member, key, tier, endUser, tags, models, providers } = options
  return {
    workspace_id: workspace && (await requireWorkspace(db, organizationId, workspace)).id,
    user_id: member && (await requireMemberByEmail(db, organizationId, member)),
    key_hash: key && (await requireKeyByPrefix(db, organizationId, key)).hash,
    tier,
    end_user: endUser,
    ...{ tags, models, providers },
  }
}

async function requireMemberByEmail(db: Db, organizationId: string, email: string): Promise<string> {
  const member = await findMemberByEmail(db, organizationId, email)
  if (!member) throw new UsageError('The member does not exist. Check --member and --org.')
  return member.id
}

async function runList(gateway: Gateway, options: OrgOption): Promise<CommandResult> {
  const { id: organizationId } = await resolveOrganization(gateway, options.org)
  const filter = { organizationId, workspaceIds: null, source: null, keyId: null, tier: null }
  const { limits } = await listAllLimits(gateway.db, filter, { offset: 0, limit: maxListed })
  const value = await Promise.all(limits.map((limit) => toAnyLimitRecord(gateway.db, limit)))
  const lines = value.map((limit) =>
    [limit.id, limit.name, describeLimit(limit), limit.enabled ? '' : '(disabled)'].join('  ').trimEnd(),
  )
  return { value, text: lines.join('\n') || 'No limits.' }
}

/** `5 usd per day, key_hash=1f2e3d4c5b6a, for each end_user` */
function describeLimit({ measure, amount, window, match, per }: LimitRecord): string {
  const matched = Object.entries(match).flatMap(([field, value]) => {
    if (value === null || value.length === 0) return []
    const shown = field === 'key_hash' ? value.slice(0, 12) : value
    return [`${field}=${Array.isArray(shown) ? shown.join(',') : shown}`]
  })
  const size = `${amount} ${measure}${window ? ` per ${window}` : ''}`
  return [size, ...matched, ...(per.length > 0 ? [`for each ${per.join(' and ')}`] : [])].join(', ')
}

async function runDelete(gateway: Gateway, id: string, options: OrgOption): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const limit = await transactAsCommand(gateway, organization.id, async (tx, record) => {
    const row = await findLimit(tx, organization.id, id.toLowerCase())
    if (!row) throw new UsageError('The limit does not exist. Run "limits list" to see the ids.')
    await deleteLimitRow({ tx, record }, row)
    return row
  })
  return { value: { deleted: limit.id }, text: `Deleted ${limit.name}.` }
}
