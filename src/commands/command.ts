import { InvalidArgumentError } from 'commander'
import { z } from 'zod'
import { findOperatorOrganization, findOrganization } from '../account/organizations.ts'
import type { Gateway } from '../app/gateway.ts'
import { readConfig } from '../config.ts'
import { maxUsd, nanosFromUsd } from '../ledger/money.ts'
import { isUtcTimestamp } from '../lib/time.ts'
import { openGateway } from '../main.ts'

/** A mistake of the person at the terminal: one sentence, exit code 1. */
export class UsageError extends Error {}

export interface OrgOption {
  org?: string
}

/** The flag every command about one organization has. */
export const orgFlag = [
  '--org <id>',
  'organization id; default: the one that runs this installation',
] as const

/** What a command prints: `--json` gives the value, otherwise the text. */
export interface CommandResult {
  value: unknown
  text: string
}

/** Opens the gateway, does the work, prints its result. */
export type CommandRunner = (work: (gateway: Gateway) => Promise<CommandResult>) => Promise<void>

/** Whoever waits at a terminal can end it; a check of millions of records takes its time. */
const queryTimeoutMs = 30 * 60_000

/** Opens the database beside a running server, which is safe: only serving needs the data directory alone. */
export async function withGateway<T>(work: (gateway: Gateway) => Promise<T>): Promise<T> {
  const gateway = await openGateway(readConfig(), undefined, queryTimeoutMs)
  try {
    return await work(gateway)
  } finally {
    await gateway.db.destroy()
  }
}

export async function resolveOrganization(gateway: Gateway, id: string | undefined) {
  const organization = id
    ? await findOrganization(gateway.db, id)
    : await findOperatorOrganization(gateway.db)
  if (organization) return organization
  throw new UsageError(
    id ? `There is no organization ${id}.` : 'Nothing is set up yet: start the server once.',
  )
}

export function parseAmount(text: string): bigint {
  const nanos = /^\d{1,10}(\.\d{1,9})?$/.test(text) && Number(text) <= maxUsd ? nanosFromUsd(text) : undefined
  if (nanos === undefined) throw new InvalidArgumentError('It must be an amount in USD.')
  return nanos
}

export function parseName(text: string): string {
  const name = text.trim()
  if (name.length >= 1 && name.length <= 200 && !/\p{Cc}/u.test(name)) return name
  throw new InvalidArgumentError('It must be 1 to 200 characters of text.')
}

export function parseEmail(text: string): string {
  if (z.email().max(254).safeParse(text).success) return text
  throw new InvalidArgumentError('It must be an e-mail address.')
}

export function parseTime(text: string): string {
  if (isUtcTimestamp(text) && Date.parse(text) > Date.now()) return text
  throw new InvalidArgumentError('It must be a UTC time with seconds that is still to come.')
}

/** Names come from clients of the API: none of them may speak to the terminal. */
export function printResult({ value, text }: CommandResult, json: boolean): void {
  const plain = text.replace(/(?!\n)\p{Cc}/gu, '?')
  process.stdout.write(`${json ? JSON.stringify(value) : plain}\n`)
}
