import { examinePastRequests } from '../../../analytics/request-log/past-requests.ts'
import type { LogSelection } from '../../../analytics/request-log/selection.ts'
import type { GenerationRow } from '../../../analytics/request-log/walk.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { findMatch, type RoutingRule } from '../../../governance/routing-rules/rule.ts'
import type { RoutingRuleIndex } from '../../../governance/routing-rules/store.ts'
import { isWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { type KeyName, loadKeyNames } from '../../../identity/record-names.ts'
import { TimeSlicer } from '../../../platform/time/time-slicer.ts'
import { readPrompts } from '../../../storage/stored-contents.ts'
import { type Outcome, TotalsBuilder } from './dry-run-totals.ts'
import {
  describePastRequest,
  detectStoredLanguage,
  NotRecordedError,
  type PastRequest,
} from './past-facts.ts'

/** Bounds of the prompts that one dry run decrypts. */
const maxPrompts = 1000
const maxPromptBytes = 32 * 1024 * 1024

interface Examination {
  selection: LogSelection
  rules: RoutingRuleIndex
  /** The slugs of workspaces. */
  slugs: ReadonlyMap<string, string>
  /** Where the caller may read prompts. */
  contents: Scope
  maxRequests: number
}

/** Evaluates rules over the records of past requests, newest first, without holding the event loop. */
export class RuleExaminer {
  readonly totals = new TotalsBuilder()
  readonly #gateway: Gateway
  readonly #options: Examination
  readonly #slicer = new TimeSlicer()
  readonly #keys = new Map<number, KeyName>()
  readonly #promptIds: string[] = []
  #promptBytes = 0

  constructor(gateway: Gateway, options: Examination) {
    this.#gateway = gateway
    this.#options = options
  }

  /** The generations whose prompt was read, newest first. */
  get promptIds(): readonly string[] {
    return this.#promptIds
  }

  /** Whether all requests of the period were examined. */
  async run(): Promise<boolean> {
    const { selection, maxRequests } = this.#options
    return examinePastRequests(this.#gateway, selection, maxRequests, (rows) => this.#examine(rows))
  }

  async #examine(rows: readonly GenerationRow[]): Promise<void> {
    await this.#loadKeys(rows)
    const waiting = new Map<string, PastRequest>()
    for (const row of rows) {
      const request = this.#describe(row)
      const outcome = await this.#evaluate(request)
      if (isLanguageMissing(outcome) && this.#mayReadPrompt(row)) waiting.set(row.id, request)
      else this.#count(request, outcome)
    }
    if (waiting.size > 0) await this.#examineWithPrompts(waiting)
  }

  #describe(row: GenerationRow): PastRequest {
    const workspace = (row.workspace_id === null ? null : this.#options.slugs.get(row.workspace_id)) ?? ''
    return { row, workspace, key: this.#keys.get(row.key_id), language: null }
  }

  #mayReadPrompt({ workspace_id: workspaceId, user_id: ownerId }: GenerationRow): boolean {
    return isWithinScope(this.#options.contents, { workspaceId, ownerId })
  }

  /** Reads the prompts that are on record, and evaluates again. */
  async #examineWithPrompts(waiting: Map<string, PastRequest>): Promise<void> {
    const room = this.#promptBytes > maxPromptBytes ? 0 : maxPrompts - this.#promptIds.length
    const ids = [...waiting.keys()].slice(0, room)
    const { organizationId } = this.#options.selection
    for await (const prompt of readPrompts(this.#gateway, organizationId, ids)) {
      this.#promptBytes += prompt.bytes
      this.#promptIds.push(prompt.generation_id)
      const request = waiting.get(prompt.generation_id)
      if (!request) continue
      const language = this.#slicer.runCounted(() => detectStoredLanguage(prompt.input))
      waiting.set(prompt.generation_id, { ...request, language })
      if (this.#promptBytes > maxPromptBytes) break
    }
    for (const request of waiting.values()) this.#count(request, await this.#evaluate(request))
  }

  #count({ row }: PastRequest, outcome: Outcome): void {
    this.totals.add(row.id, row.requested_model, outcome)
  }

  async #loadKeys(rows: readonly GenerationRow[]): Promise<void> {
    const missing = [...new Set(rows.map(({ key_id }) => key_id))].filter((id) => !this.#keys.has(id))
    const { organizationId } = this.#options.selection
    for (const [id, facts] of await loadKeyNames(this.#gateway.db, organizationId, missing))
      this.#keys.set(id, facts)
  }

  async #evaluate(request: PastRequest): Promise<Outcome> {
    for (let turn = this.#slicer.pendingYield; turn; turn = this.#slicer.pendingYield) await turn
    return this.#slicer.runCounted(() => this.#findOutcome(request))
  }

  #findOutcome(request: PastRequest): Outcome {
    const rules = this.#options.rules.forWorkspace(request.row.workspace_id)?.rules ?? []
    const failed: RoutingRule[] = []
    const onFailure = (rule: RoutingRule, error: unknown) => {
      if (error instanceof NotRecordedError) throw new UndecidedError(rule, error.variable)
      failed.push(rule)
    }
    try {
      const rule = findMatch(rules, describePastRequest(request), onFailure)
      return rule ? { kind: 'matched', rule, failed } : { kind: 'none', failed }
    } catch (error) {
      if (!(error instanceof UndecidedError)) throw error
      return { kind: 'undecided', rule: error.rule, variable: error.variable, failed }
    }
  }
}

/** Whether the first rule applies depends on what is not on record. */
class UndecidedError extends Error {
  readonly rule: RoutingRule
  readonly variable: string

  constructor(rule: RoutingRule, variable: string) {
    super('undecided')
    this.rule = rule
    this.variable = variable
  }
}

function isLanguageMissing(outcome: Outcome): boolean {
  return outcome.kind === 'undecided' && outcome.variable === 'language'
}
