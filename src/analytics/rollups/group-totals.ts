import type { Column } from './column.ts'
import type { RowGroups } from './row-groups.ts'

/** Half of what a double counts exactly, because the totals compared with it are rounded. */
const maxSafeTotal = Number.MAX_SAFE_INTEGER / 2

/**
 * One sum for each group. Doubles, which are fast, while no sum can lose precision; before that they are
 * moved to `#carried`.
 */
export class GroupTotals {
  #numbers = new Float64Array(64)
  #overflow = new Map<number, bigint>()
  /** No sum exceeds it. */
  #bound = 0

  /** `count` is the number of groups. */
  add(groups: RowGroups, size: number, column: Column, count: number): void {
    if (column.max === 0) return
    this.#grow(count)
    if (typeof groups === 'number' && (column.isSigned || column.total > maxSafeTotal))
      this.add(new Int32Array(size).fill(groups), size, column, count)
    else if (typeof groups === 'number') this.#addTotal(groups, column.total)
    else if (column.total > maxSafeTotal) this.#addExactly(groups, column)
    else this.#addFast(groups, column)
  }

  #addTotal(group: number, total: number): void {
    this.#reserve(total)
    this.#numbers[group] = (this.#numbers[group] as number) + total
  }

  #addFast(groups: Int32Array, column: Column): void {
    this.#reserve(column.total)
    if (column.numbers === null) addConstant(groups, column.constant, this.#numbers)
    else addNumbers(groups, column.numbers, this.#numbers)
  }

  #reserve(total: number): void {
    if (this.#bound + total > maxSafeTotal) this.#spill()
    this.#bound += total
  }

  get(group: number): bigint {
    return (this.#overflow.get(group) ?? 0n) + BigInt(this.#numbers[group] ?? 0)
  }

  isZero(group: number): boolean {
    return this.#overflow.size === 0 ? (this.#numbers[group] ?? 0) === 0 : this.get(group) === 0n
  }

  #grow(count: number): void {
    if (count <= this.#numbers.length) return
    const larger = new Float64Array(count * 2)
    larger.set(this.#numbers)
    this.#numbers = larger
  }

  #spill(): void {
    for (const [group, number] of this.#numbers.entries())
      if (number !== 0) this.#addToOverflow(group, number)
    this.#numbers.fill(0)
    this.#bound = 0
  }

  #addExactly(groups: Int32Array, { numbers, constant }: Column): void {
    for (const [row, group] of groups.entries())
      if (group >= 0) this.#addToOverflow(group, numbers?.[row] ?? constant)
  }

  #addToOverflow(group: number, number: number): void {
    this.#overflow.set(group, (this.#overflow.get(group) ?? 0n) + BigInt(number))
  }
}

function addNumbers(groups: Int32Array, numbers: Uint32Array | Float64Array, totals: Float64Array): void {
  for (let row = 0; row < groups.length; row++) {
    const group = groups[row] as number
    if (group >= 0) totals[group] = (totals[group] as number) + (numbers[row] as number)
  }
}

function addConstant(groups: Int32Array, constant: number, totals: Float64Array): void {
  for (let row = 0; row < groups.length; row++) {
    const group = groups[row] as number
    if (group >= 0) totals[group] = (totals[group] as number) + constant
  }
}
