import { Command, InvalidArgumentError } from 'commander'
import { createRuleRow, deleteRuleRow } from '../api/catalog/routing-rules/changes.ts'
import type { DryRunTotals } from '../api/catalog/routing-rules/dry-run-totals.ts'
import {
  createRuleBody,
  draftRuleBody,
  type RuleRecord,
  toRuleRecord,
} from '../api/catalog/routing-rules/record.ts'
import { compileDraft, tryRules } from '../api/catalog/routing-rules/try-rules.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { listRuleRows, toRoutingRule } from '../governance/routing-rules/store.ts'
import { noScope } from '../identity/permissions/grant.ts'
import { requireWorkspace } from '../identity/workspaces.ts'
import { tryParseJson } from '../platform/json/json.ts'
import { validateInput } from '../platform/validation/validate-input.ts'
import {
  type CommandResult,
  type CommandRunner,
  type OrgOption,
  orgFlag,
  parseName,
  resolveOrganization,
  transactAsCommand,
  UsageError,
} from './command.ts'

interface PlaceOptions extends OrgOption {
  workspace?: string
}

interface CreateOptions extends PlaceOptions {
  name: string
  description?: string
  position?: number
  when: string
  then: unknown
  disabled?: boolean
}

interface DryRunOptions extends PlaceOptions {
  when?: string
  then?: unknown
  days: number
}

const maxRequests = 10_000

export function routingRulesCommand(run: CommandRunner): Command {
  const rules = new Command('routing-rules').description('manage the rules by which requests are routed')
  rules
    .command('list')
    .description('list the rules of an organization in the order they are tried')
    .option(...orgFlag)
    .action((options: OrgOption) => run((gateway) => runList(gateway, options)))
  rules
    .command('create')
    .description('create a rule')
    .requiredOption('--name <name>', 'name of the rule', parseName)
    .requiredOption('--when <condition>', 'a CEL expression, such as: tags.team == "search"')
    .requiredOption('--then <json>', 'what it does, such as {"models": ["openai/gpt-5-mini"]}', parseJson)
    .option('--description <text>', 'description of the rule')
    .option('--position <number>', 'its place in the order (default: the last)', parseInteger)
    .option('--workspace <id or slug>', 'requests in this workspace (default: in all of them)')
    .option('--disabled', 'do not apply it yet')
    .option(...orgFlag)
    .action((options: CreateOptions) => run((gateway) => runCreate(gateway, options)))
  rules
    .command('delete')
    .description('delete a rule, by its id')
    .argument('<id>')
    .option(...orgFlag)
    .action((id: string, options: OrgOption) => run((gateway) => runDelete(gateway, id, options)))
  rules
    .command('dry-run')
    .description('try a rule, or all rules that are enabled, on past requests, without their prompts')
    .option('--when <condition>', 'the condition of a rule that is tried alone')
    .option('--then <json>', 'what it does', parseJson)
    .option('--workspace <id or slug>', 'requests in this workspace (default: in all of them)')
    .option('--days <number>', 'requests of this many days, at most 30', parseDays, 7)
    .option(...orgFlag)
    .action((options: DryRunOptions) => run((gateway) => runDryRun(gateway, options)))
  return rules
}

function parseJson(text: string): unknown {
  const value = tryParseJson(text)
  if (value === undefined) throw new InvalidArgumentError('It must be JSON.')
  return value
}

function parseInteger(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

function parseDays(text: string): number {
  const days = parseInteger(text)
  if (days < 1 || days > 30) throw new InvalidArgumentError('It must be between 1 and 30.')
  return days
}

async function runList(gateway: Gateway, options: OrgOption): Promise<CommandResult> {
  const { id } = await resolveOrganization(gateway, options.org)
  const value = (await listRuleRows(gateway.db, id)).map(toRuleRecord)
  return { value, text: value.map(describe).join('\n') || 'No routing rules.' }
}

function describe({ id, name, when, then, enabled }: RuleRecord): string {
  const line = `${id}  ${name}: when ${when} then ${JSON.stringify(then)}`
  return enabled ? line : `${line} (disabled)`
}

async function runCreate(gateway: Gateway, options: CreateOptions): Promise<CommandResult> {
  const place = await resolvePlace(gateway, options)
  const { name, description, position, when, then, disabled } = options
  const body = { name, description, position, when, then, enabled: !disabled }
  const { workspace_id: _own, ...draft } = validateInput(createRuleBody, body, 'rule')
  const row = await transactAsCommand(gateway, place.organization_id, (tx, record) =>
    createRuleRow({ gateway, tx, record }, place, draft),
  )
  const value = toRuleRecord(row)
  return { value, text: `Created ${describe(value)}.` }
}

async function resolvePlace(gateway: Gateway, { org, workspace }: PlaceOptions) {
  const { id: organization_id } = await resolveOrganization(gateway, org)
  const workspace_id =
    workspace === undefined ? null : (await requireWorkspace(gateway.db, organization_id, workspace)).id
  return { organization_id, workspace_id }
}

async function runDelete(gateway: Gateway, id: string, options: OrgOption): Promise<CommandResult> {
  const organization = await resolveOrganization(gateway, options.org)
  const rule = await transactAsCommand(gateway, organization.id, async (tx, record) => {
    const row = (await listRuleRows(tx, organization.id)).find((one) => one.id === id.toLowerCase())
    if (!row) throw new UsageError('The rule does not exist. Run "routing-rules list" to see the ids.')
    await deleteRuleRow({ tx, record }, row)
    return row
  })
  return { value: { deleted: rule.id }, text: `Deleted ${rule.name}.` }
}

async function runDryRun(gateway: Gateway, options: DryRunOptions): Promise<CommandResult> {
  const { when, then, days } = options
  if ((when === undefined) !== (then === undefined))
    throw new UsageError('--when and --then belong together. Without both, all rules are tried.')
  const place = await resolvePlace(gateway, options)
  const draft = when === undefined ? null : validateInput(draftRuleBody, { when, then }, 'rule')
  const rules = draft
    ? [await compileDraft(gateway, place, draft)]
    : (await listRuleRows(gateway.db, place.organization_id))
        .filter(({ enabled }) => enabled === 1)
        .map((row) => ({ workspaceId: row.workspace_id, rule: toRoutingRule(row) }))
  const workspaceIds = place.workspace_id === null ? null : new Set([place.workspace_id])
  const { totals } = await tryRules(gateway, {
    ...{ organizationId: place.organization_id, workspaceIds, visible: null, contents: noScope },
    ...{ rules, days, maxRequests },
  })
  return { value: totals, text: describeTotals(totals) }
}

function describeTotals({ examined, matched, rejected, undecided, rules, models }: DryRunTotals): string {
  return [
    `${examined} requests examined: ${matched} matched, ${rejected} of them rejected, ${undecided} undecided.`,
    ...rules.map(
      (rule) =>
        `${rule.name || 'The rule'}: ${rule.matched} matched, ${rule.undecided} undecided, ${rule.failed} failed`,
    ),
    ...models.map(({ before, after, requests }) => `${before} -> ${after.join(', ')}: ${requests}`),
  ].join('\n')
}
