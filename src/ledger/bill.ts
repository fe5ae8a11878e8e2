import type { Usage } from '../formats/call/usage.ts'
import type { Amounts } from './amounts.ts'
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
  /** Milliseconds from the arrival of the request; absent if it is not recorded. */
  startedMs?: number
  /** The request with a record of its own. */
  nestedId: string | null
}

/** The costs of a request besides the reply in progress: finished turns, tools, plugins and nested requests. */
export class Bill {
  readonly lines: BillLine[] = []
  #charge: Charge = zeroCharge
  #fees = 0n
  #nested = 0n
  #isClosed = false
  #isRecorded = false
  readonly #late: BillLine[] = []
  #onLate: ((line: BillLine) => void) | null = null

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

  /**
   * Closes the bill and returns the charge of the request. A tool that ends afterwards, because the client
   * disconnected, is not charged: the charge and its lines have to agree.
   */
  close(): Charge {
    this.#isClosed = true
    return this.#charge
  }

  /** Nested requests that ended after the bill was closed, and those that still will: they are charged themselves. */
  takeLate(onLate: (line: BillLine) => void): void {
    this.#onLate = onLate
    for (const line of this.#late.splice(0)) onLate(line)
  }

  /** Records that the lines are stored with the record of the request. */
  markRecorded(): void {
    this.#isRecorded = true
  }

  /** Takes the nested requests of one that has no record: another bill must have them. */
  takeUnrecorded(): BillLine[] {
    if (this.#isRecorded) return []
    this.#nested = 0n
    return this.lines.splice(0).filter(({ kind }) => kind === 'request')
  }

  addTurn(line: Omit<BillLine, 'kind' | 'cost' | 'usage' | 'nestedId'>, charge: Charge): void {
    if (this.#isClosed) return
    this.#charge = addCharges(this.#charge, charge)
    this.lines.push({ ...line, kind: 'turn', usage: charge.usage, cost: charge.cost, nestedId: null })
  }

  /** A fixed price. A BYOK key of the model does not pay for it. */
  addFee(line: Omit<BillLine, 'usage' | 'nestedId'>): void {
    if (this.#isClosed) return
    this.#charge = addCharges(this.#charge, { ...zeroCharge, cost: line.cost })
    this.#fees += line.cost
    this.lines.push({ ...line, usage: null, nestedId: null })
  }

  addNested(fields: Omit<BillLine, 'kind'>): void {
    const line: BillLine = { ...fields, kind: 'request' }
    if (this.#isClosed) this.#addLate(line)
    else {
      this.#nested += line.cost
      this.lines.push(line)
    }
  }

  #addLate(line: BillLine): void {
    if (this.#onLate) this.#onLate(line)
    else this.#late.push(line)
  }

  /** Encodes the bill as JSON for the checkpoint of a request. `remaining` is the hold for the reply in progress. */
  encode({ amount, byok }: Amounts): EncodedBill {
    return {
      lines: this.lines.map(mapAmounts(String)),
      charge: encodeCharge(this.#charge),
      remaining: { amount: String(amount), byok: String(byok) },
    }
  }

  static decode({ lines, charge }: EncodedBill): Bill {
    const bill = new Bill()
    bill.lines.push(...lines.map(mapAmounts(BigInt)))
    bill.#charge = decodeCharge(charge)
    for (const { kind, cost } of bill.lines) {
      if (kind === 'tool' || kind === 'plugin') bill.#fees += cost
      if (kind === 'request') bill.#nested += cost
    }
    return bill
  }
}

export interface EncodedBill {
  lines: (Omit<BillLine, 'cost'> & { cost: string })[]
  charge: EncodedCharge
  remaining: Record<keyof Amounts, string>
}

type Amount = 'cost' | 'byok' | 'upstream'
type EncodedCharge = Omit<Charge, Amount | 'listPrice'> &
  Record<Amount, string> & { listPrice: Record<keyof Charge['listPrice'], string> }

function mapAmounts<From, To>(map: (amount: From) => To) {
  return <Line extends { cost: From }>(line: Line) => ({ ...line, cost: map(line.cost) })
}

function encodeCharge(charge: Charge): EncodedCharge {
  const { total, prompt, completion } = charge.listPrice
  return {
    ...charge,
    cost: String(charge.cost),
    byok: String(charge.byok),
    upstream: String(charge.upstream),
    listPrice: { total: String(total), prompt: String(prompt), completion: String(completion) },
  }
}

function decodeCharge(charge: EncodedCharge): Charge {
  const { total, prompt, completion } = charge.listPrice
  return {
    ...charge,
    cost: BigInt(charge.cost),
    byok: BigInt(charge.byok),
    upstream: BigInt(charge.upstream),
    listPrice: { total: BigInt(total), prompt: BigInt(prompt), completion: BigInt(completion) },
  }
}
