import { type BoundedQueue, QueueFullError } from '../platform/concurrency/bounded-queue.ts'
import type { Db } from '../platform/db/db.ts'
import { GatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

export const minPasswordLength = 12
export const maxPasswordLength = 128

/** The recommendation of OWASP for Argon2id. */
export const hashCost = { memoryCost: 19_456, timeCost: 2 }

const minDistinctCharacters = 5

/** Long enough, and the first that are tried. Compared in lower case and without the digits at the end. */
const commonPasswords = new Set([
  'administrator',
  'correcthorsebatterystaple',
  'changemeplease',
  'defaultpassword',
  'iloveyouforever',
  'letmeinplease',
  'mypasswordis',
  'passwordpassword',
  'qwertyuiopasdfghjkl',
  'qwertyuiop',
  'qwertyqwerty',
  'welcomewelcome',
  'password',
  'welcome',
  'headgate',
  'iloveyou',
  'letmein',
  'changeme',
  'superman',
  'football',
  'baseball',
  'sunshine',
  'princess',
  'trustno',
  'whatever',
  'starwars',
  'computer',
  'qwerty',
  'qazwsxedc',
  'asdfghjkl',
  'zxcvbnm',
  'abcdefghijkl',
  'p@ssw0rd',
  'passw0rd',
])

/** Finds the problem of a new password; undefined if there is none. */
export function findPasswordProblem(password: string, email: string | null): string | undefined {
  const text = normalize(password)
  const length = [...text].length
  if (length < minPasswordLength || length > maxPasswordLength)
    return `must have ${minPasswordLength} to ${maxPasswordLength} characters`
  const word = text.toLowerCase()
  const [name = ''] = (email ?? '').split('@')
  if (email && (word === email || (name.length > 3 && word.replace(/[\d\W_]+$/, '') === name)))
    return 'must not be your e-mail address'
  const isCommon = commonPasswords.has(word.replace(/[\d\W_]+$/, '')) || commonPasswords.has(word)
  if (isCommon || new Set(word).size < minDistinctCharacters || /^[\d\W_]*$/.test(word.slice(0, 12)))
    return 'is too easy to guess; use several words'
  return undefined
}

/** The same characters, however the keyboard composed them. */
function normalize(password: string): string {
  return password.normalize('NFKC')
}

export async function hashPassword(queue: BoundedQueue, password: string): Promise<string> {
  return runInTurn(queue, () => computeHash(normalize(password)))
}

let unknownHash: Promise<string> | undefined

/** Takes as long for a member without a password. Runs on another thread. */
export async function verifyPassword(
  queue: BoundedQueue,
  password: string,
  hash: string | undefined,
): Promise<boolean> {
  if (password.length > maxPasswordLength * 2) return false
  unknownHash ??= computeHash(crypto.randomUUID())
  const compared = hash ?? (await unknownHash)
  const isRight = await runInTurn(queue, () => Bun.password.verify(normalize(password), compared))
  return isRight && hash !== undefined
}

function computeHash(text: string): Promise<string> {
  return Bun.password.hash(text, { algorithm: 'argon2id', ...hashCost })
}

async function runInTurn<T>(queue: BoundedQueue, work: () => Promise<T>): Promise<T> {
  try {
    return await queue.run(work)
  } catch (error) {
    if (!(error instanceof QueueFullError)) throw error
    const message = 'Too many passwords are being verified. Try again in a few seconds.'
    throw new GatewayError('rate_limited', { message, headers: { 'retry-after': '5' } })
  }
}

export async function findPassword(db: Db, userId: string) {
  return db.selectFrom('member_passwords').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

/** Lists passwords. Queries the database even without members, so that the time does not reveal if any exist. */
export async function listPasswords(db: Db, userIds: string[]) {
  const ids = userIds.length > 0 ? userIds : ['']
  return db.selectFrom('member_passwords').selectAll().where('user_id', 'in', ids).execute()
}

export async function storePassword(tx: Db, clock: Clock, userId: string, hash: string): Promise<void> {
  const row = { password_hash: hash, updated_at: isoNow(clock) }
  await tx
    .insertInto('member_passwords')
    .values({ user_id: userId, ...row })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(row))
    .execute()
}

export async function deletePassword(tx: Db, userId: string): Promise<boolean> {
  const result = await tx.deleteFrom('member_passwords').where('user_id', '=', userId).executeTakeFirst()
  return result.numDeletedRows === 1n
}
