import type { Usage } from '../call/usage.ts'
import { addCharges, type Charge, zeroCharge } from './charge.ts'

/** A line of the bill of a request. */
export interface BillLine {
  /** A reply of its model, a server tool, a plugin, or a request with a record of its own. */
  kind: 'turn' | 'tool' | 'plugin' | 'request'
  /** The model, the tool or the plugin. */
  name: string
  /** The provider or engine that was paid. */
  provider: string | null
  quantity: number
  usage: Usage | null
  cost: bigint
  durationMs: number
  /** The request with a record of its own. */
  generationId: string | null
}

/** What a request costs besides the reply in progress: finished turns, tools, plugins and nested requests. */
export class Bill {
  readonly lines: BillLine[] = []
  /** The holds that were added to that of the request, by id. */
  readonly extensions: string[] = []
  #charge: Charge = zeroCharge
  #fees = 0n
  #nested = 0n

  /** Charged with the request itself. */
  get charge(): Charge {
    return this.#charge
  }
  /** The part of `charge` that is not for tokens. */
  get fees(): bigint {
    return this.#fees
  }
  /** Charged with the records of nested requests. */
  get nested(): bigint {
    return this.#nested
  }

  addTurn(line: Omit<BillLine, 'kind' | 'cost' | 'usage' | 'generationId'>, charge: Charge): void {
    this.#charge = addCharges(this.#charge, charge)
    this.lines.push({ ...line, kind: 'turn', usage: charge.usage, cost: charge.cost, generationId: null })
  }

  /** A fixed price. A BYOK key of the model does not pay for it. */
  addFee(line: Omit<BillLine, 'usage' | 'generationId'>): void {
    this.#charge = addCharges(this.#charge, { ...zeroCharge, cost: line.cost })
    this.#fees += line.cost
    this.lines.push({ ...line, usage: null, generationId: null })
  }

  addNested(line: Omit<BillLine, 'kind'>): void {
    this.#nested += line.cost
    this.lines.push({ ...line, kind: 'request' })
  }
}
