import { findSignInRule } from '../../account/sign-in-rules.ts'
import type { Gateway } from '../../app/gateway.ts'

/** Where a person with this address starts single sign-on; undefined if the domain has none. */
export async function findSsoStartPath({ db }: Gateway, email: string): Promise<string | undefined> {
  const rule = await findSignInRule(db, email)
  return rule && `/signin/oidc/${rule.connection.id}`
}
