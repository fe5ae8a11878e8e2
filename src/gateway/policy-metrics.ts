import { Counter, type Registry } from 'prom-client'
import { detectorSlugs } from '../governance/filters/detectors.ts'
import type { GuardrailHit } from '../governance/policy/content-rules.ts'
import type { GatewayError } from '../platform/errors/gateway-error.ts'
import { LabelValues } from './model-metrics/label-sets.ts'

/** Rules of guardrails that are not named by their author. */
const ruleKinds: ReadonlySet<string> = new Set([...detectorSlugs, 'moderation', 'unscannable_content'])

/** What limits and guardrails do with requests, and the tools that the gateway runs for them. */
export class PolicyMetrics {
  readonly #values = new LabelValues()
  readonly #rejections: Counter
  readonly #limits: Counter
  readonly #hits: Counter
  readonly #tools: Counter

  constructor(registry: Registry) {
    const registers = [registry]
    this.#rejections = new Counter({
      name: 'headgate_rejections_total',
      help: 'Requests to models that were rejected before a provider was called, by the code of their error.',
      labelNames: ['code'],
      registers,
    })
    this.#limits = new Counter({
      name: 'headgate_limits_reached_total',
      help: 'Requests that a limit rejected, by the limit (credits, key, member, workspace, guardrail or declared), what it measures, its window and the workspace.',
      labelNames: ['limit', 'measure', 'window', 'workspace'],
      registers,
    })
    this.#hits = new Counter({
      name: 'headgate_guardrail_hits_total',
      help: 'Matches of guardrails, by the kind of rule (a detector, moderation, unscannable_content or custom), action, direction and workspace.',
      labelNames: ['rule', 'action', 'direction', 'enforced', 'workspace'],
      registers,
    })
    this.#tools = new Counter({
      name: 'headgate_tool_runs_total',
      help: 'Calls of server tools that the gateway has run, by tool and outcome.',
      labelNames: ['tool', 'outcome'],
      registers,
    })
  }

  recordRejection({ code, metadata }: GatewayError, workspaceId: string): void {
    this.#rejections.inc({ code })
    const { limit, measure, interval } = metadata
    if (typeof limit !== 'string') return
    this.#limits.inc({
      limit: limit === 'limit' ? 'declared' : limit,
      measure: typeof measure === 'string' ? measure : 'usd',
      window: typeof interval === 'string' ? interval : 'none',
      workspace: this.#values.bound('workspace', workspaceId),
    })
  }

  recordHits(hits: readonly GuardrailHit[], workspaceId: string): void {
    const workspace = this.#values.bound('workspace', workspaceId)
    for (const { rule, part, action, direction, isEnforced, count } of hits)
      this.#hits.inc(
        {
          // A rule about something other than text names itself.
          rule: ruleKinds.has(rule) || rule === part ? rule : 'custom',
          action,
          direction,
          enforced: String(isEnforced),
          workspace,
        },
        count,
      )
  }

  recordToolRun(tool: string, outcome: 'completed' | 'failed'): void {
    this.#tools.inc({ tool: this.#values.bound('tool', tool), outcome })
  }
}
