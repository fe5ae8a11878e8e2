import type { Db } from '../db/db.ts'
import { BoundedQueue } from '../lib/bounded-queue.ts'
import type { Clock } from '../lib/clock.ts'
import type { Vault } from '../lib/crypto.ts'
import { Mailer } from '../mail/mailer.ts'
import { JwksCache } from '../oidc/jwks-cache.ts'
import { OidcProviders } from '../oidc/providers.ts'
import { AccessTokens } from './access-tokens.ts'
import { AccountCache } from './account-cache.ts'
import { createRevisionReader } from './account-revision.ts'
import type { Gateway } from './gateway.ts'
import type { Settings } from './settings.ts'
import { SignInLimiter } from './sign-in-limiter.ts'

/** Passwords that are verified at the same time, each with 19 MiB, and those that wait. */
const maxPasswordTasks = 4
const maxPasswordsWaiting = 200

interface IdentityOptions {
  db: Db
  clock: Clock
  vault: Vault
  settings: () => Settings
}

/** Account data, and what people and workloads sign in with. */
export function createIdentity({ db, clock, vault, settings }: IdentityOptions) {
  const revisions = createRevisionReader(db)
  const egress = () => ({ allowPrivate: settings().egress.allow_private })
  const jwks = new JwksCache(clock, egress)
  return {
    accounts: new AccountCache(db, revisions),
    accessTokens: new AccessTokens({ db, clock, vault, revisions }),
    jwks,
    oidcProviders: new OidcProviders(clock, egress, jwks),
    mailer: new Mailer(),
    signInLimiter: new SignInLimiter(),
    passwordQueue: new BoundedQueue(maxPasswordTasks, maxPasswordsWaiting),
  } satisfies Partial<Gateway>
}
