import { ReplyCollector, type ReplyEvent } from '../../formats/call/event.ts'
import { collectPartTexts } from '../../formats/call/texts.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { RuleSet } from '../../governance/filters/scanner.ts'
import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import type { ReplyObserver, ReplyTransform } from '../reply/transforms.ts'
import { toReplyHit } from './reply-filter.ts'

/** Collects a reply for the filters whose matches are only recorded, and scans it once it has ended. */
export class ReplyInspector implements ReplyObserver {
  readonly #scanner: Gateway['scanner']
  readonly #rules: RuleSet
  #collector = new ReplyCollector()

  constructor({ scanner }: Pick<Gateway, 'scanner'>, rules: RuleSet) {
    this.#scanner = scanner
    this.#rules = rules
  }

  /** Begins again for another attempt. */
  restart(): this {
    this.#collector = new ReplyCollector()
    return this
  }

  add(event: ReplyEvent): void {
    this.#collector.add(event)
  }

  /** Creates a transform that collects the reply, to run before the filters that change it. */
  toTransform(): ReplyTransform {
    return {
      transform: (event) => {
        this.add(event)
        return [event]
      },
      end: () => [],
    }
  }

  async findHits(): Promise<GuardrailHit[]> {
    const parts = this.#collector.reply.choices.flatMap((choice) => choice.parts.filter(Boolean))
    const results = await this.#scanner.redact(this.#rules, collectPartTexts(parts))
    return results.flatMap(({ hits }) => hits.map(toReplyHit))
  }
}
