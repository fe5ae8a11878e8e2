import { userInfo } from 'node:os'
import { InvalidArgumentError } from 'commander'
import { z } from 'zod'
import type { Environment } from '../config.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { loadConfig } from '../gateway/secret-managers/resolve.ts'
import type { AuditOrigin } from '../governance/audit/entry.ts'
import { type RecordEvent, transactAs } from '../governance/audit/transaction.ts'
import { findOperatorOrganization, findOrganization } from '../identity/organizations.ts'
import type { Db } from '../platform/db/db.ts'
import { maxUsd, nanosFromUsd } from '../platform/money/money.ts'
import { isUtcTimestamp } from '../platform/time/time.ts'
import { isSingleLine } from '../platform/validation/name-schema.ts'

/** Invalid input on the command line: the message is printed, and the exit code is 1. */
export class UsageError extends Error {}

export interface OrgOption {
  org?: string
}

/** The flag of every command about one organization. */
export const orgFlag = [
  '--org <id>',
  'organization id (default: the organization that operates this installation)',
] as const

/** `--json` prints the value, otherwise the text is printed. */
export interface CommandResult {
  value: unknown
  text: string
  /** Other than 0 if the command has found something wrong, which its result describes. */
  exitCode?: number
}

/** Opens the gateway, runs the command and prints its result. */
export type CommandRunner = (work: (gateway: Gateway) => Promise<CommandResult>) => Promise<void>

/** Long, because checking millions of records is slow and the user can interrupt a command. */
export const queryTimeoutMs = 30 * 60_000

/** Safe while a server runs: only `serve` needs exclusive use of the data directory. */
export async function withGateway<T>(
  work: (gateway: Gateway) => Promise<T>,
  variables?: Environment,
): Promise<T> {
  // Imported here, so that a mistake on the command line is reported without loading the server.
  const { openGateway } = await import('../main.ts')
  const gateway = await openGateway(await loadConfig(variables), undefined, queryTimeoutMs)
  try {
    return await work(gateway)
  } finally {
    await gateway.audit.queue.flush()
    await gateway.db.destroy()
  }
}

/** Runs the transaction of a command. */
export async function transactAsCommand<T>(
  gateway: Gateway,
  organizationId: string | null,
  work: (tx: Db, record: RecordEvent) => Promise<T>,
): Promise<T> {
  return transactAs(gateway, originOfCommand(organizationId), work)
}

/** A container may run with a user id that has no name. */
function findUserName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}

export async function resolveOrganization(gateway: Gateway, id: string | undefined) {
  const organization = id
    ? await findOrganization(gateway.db, id)
    : await findOperatorOrganization(gateway.db)
  if (organization) return organization
  throw new UsageError(
    id
      ? `Organization ${id} does not exist. Run "orgs list" to see the organizations.`
      : 'There is no organization yet. Start the server once to create the first one.',
  )
}

/** The origin for the audit log, which names the user of the operating system. */
function originOfCommand(organizationId: string | null): AuditOrigin {
  const actor = { type: 'command' as const, id: null, name: findUserName() }
  return { organizationId, actor, ip: null, userAgent: null, requestId: null }
}

export function parseAmount(text: string): bigint {
  const nanos = /^\d{1,10}(\.\d{1,9})?$/.test(text) && Number(text) <= maxUsd ? nanosFromUsd(text) : undefined
  if (nanos === undefined) throw new InvalidArgumentError('It must be an amount in USD, such as 100 or 0.5.')
  return nanos
}

export function parseName(text: string): string {
  const name = text.trim()
  if (name.length >= 1 && name.length <= 200 && isSingleLine(name)) return name
  throw new InvalidArgumentError('It must be 1 to 200 characters of text.')
}

/** Names separated by commas. */
export function parseList(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.every((name) => name !== '')) return names
  throw new InvalidArgumentError('It must be a list separated by commas.')
}

export function parseEmail(text: string): string {
  if (z.email().max(254).safeParse(text).success) return text
  throw new InvalidArgumentError('It must be an email address.')
}

export function parseTime(text: string): string {
  if (isUtcTimestamp(text) && Date.parse(text) > Date.now()) return text
  throw new InvalidArgumentError('It must be a UTC time in the future, such as 2027-01-31T23:59:59Z.')
}

const maxFileBytes = 64 * 1024 * 1024

/** `-` is standard input. */
export async function readTextFile(path: string): Promise<string> {
  if (path === '-') return Bun.stdin.text()
  return (await openFile(path)).text()
}

/** The same, of a file that may not be text. */
export async function readFileBytes(path: string): Promise<Uint8Array> {
  if (path === '-') return Bun.stdin.bytes()
  return (await openFile(path)).bytes()
}

async function openFile(path: string): Promise<Bun.BunFile> {
  const file = Bun.file(path)
  if (!(await file.exists())) throw new UsageError(`The file ${path} does not exist.`)
  if (file.size > maxFileBytes) throw new UsageError(`The file is larger than ${maxFileBytes / 2 ** 20} MiB.`)
  return file
}

/** Names come from API clients: control characters could send escape sequences to the terminal. */
export function printResult({ value, text, exitCode }: CommandResult, json: boolean): void {
  if (exitCode !== undefined) process.exitCode = exitCode
  const plain = text.replace(/(?!\n)\p{Cc}/gu, '?')
  process.stdout.write(`${json ? JSON.stringify(value) : plain}\n`)
}
