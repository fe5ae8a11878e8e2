import { createHmac } from 'node:crypto'
import { isSameText } from './crypto.ts'

const periodMs = 30_000
const digits = 6
/** Periods before and after the present one: clocks differ, and typing takes time. */
const tolerance = 1

/** The period of RFC 6238 that a time is in. */
export function totpStepAt(now: number): number {
  return Math.floor(now / periodMs)
}

/** RFC 6238 with SHA-1, as authenticator apps implement it. */
export function computeTotp(secret: Uint8Array, step: number, length = digits): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = mac.readUInt8(mac.length - 1) & 0x0f
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** length).padStart(length, '0')
}

/** The period that the code belongs to; undefined if it is wrong, or of a period up to `usedStep`. */
export function findTotpStep(
  secret: Uint8Array,
  code: string,
  { now, usedStep }: { now: number; usedStep: number },
): number | undefined {
  const current = totpStepAt(now)
  for (let step = current - tolerance; step <= current + tolerance; step++) {
    if (step > usedStep && isSameText(code, computeTotp(secret, step))) return step
  }
  return undefined
}
