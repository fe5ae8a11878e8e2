import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { buildOrganizationGuardrail } from '../../../governance/policy/default-guardrail.ts'
import { parseGuardrail } from '../../../governance/policy/guardrail.ts'
import { isPrivacyLocked } from '../../../governance/privacy-lock.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockOrganization, setPrivacyLocked } from '../../../identity/organizations.ts'
import type { Db } from '../../../platform/db/db.ts'
import { type GuardrailSettings, toChanges, updateBody } from './body.ts'
import { lockOrCreateGuardrail } from './guardrail.ts'
import { assertPrivacyChangeAllowed } from './privacy-change.ts'
import { guardrailRecord } from './record.ts'
import { findGuardrail, updateGuardrail } from './store.ts'

/** The fields of the organization's guardrail that are its privacy settings. */
const privacyFields = {
  enable_free_model_publication: true,
  enable_free_model_training: true,
  enable_paid_model_training: true,
  enforce_zdr_vendor_a: true,
  enforce_zdr_vendor_b: true,
  enforce_zdr_vendor_c: true,
  enforce_zdr_vendor_d: true,
  enforce_zdr_other: true,
  allowed_providers: true,
  ignored_providers: true,
} as const

const privacyRecord = z
  .strictObject({
    guardrail_id: z.uuid().describe('The guardrail of the organization, which has these settings.'),
    ...guardrailRecord.pick(privacyFields).shape,
    dry_run: z.boolean().describe('Whether that guardrail only records what it would do.'),
    locked: z.boolean().describe('Whether changes that weaken privacy are rejected.'),
    managed_by: managedBy,
  })
  .meta({ id: 'PrivacySettings' })

const privacyBody = updateBody.pick(privacyFields).extend({ locked: z.boolean().optional() })

const getPrivacy = defineOperation({
  id: 'getPrivacySettings',
  method: 'GET',
  path: '/organization/privacy',
  tag: 'Organization',
  summary: 'Retrieves the privacy settings of the organization.',
  permission: 'privacy:read',
  response: z.strictObject({ data: privacyRecord }),
  handle: async ({ gateway, caller }) => ({ data: await loadPrivacy(gateway.db, caller.organizationId) }),
})

const updatePrivacy = defineOperation({
  id: 'updatePrivacySettings',
  method: 'PATCH',
  path: '/organization/privacy',
  tag: 'Organization',
  summary: 'Updates the privacy settings of the organization. Fields that are not sent stay unchanged.',
  description:
    'They are fields of the guardrail of the organization. While `locked` is true they can be changed only together with `"locked": false`; destinations and workspaces cannot be changed to share or store more content (403 `privacy_locked`). Every management key of the organization can lock and unlock.',
  permission: 'privacy:write',
  body: privacyBody,
  response: z.strictObject({ data: privacyRecord }),
  handle: (context) => {
    const { gateway } = context
    const { locked, ...settings } = context.body
    const changes = toChanges(settings, gateway)
    return transact(context, async (tx, record) => {
      const { organizationId } = context.caller
      await lockOrganization(tx, organizationId)
      const before = await loadPrivacy(tx, organizationId)
      if (locked === false) await setPrivacyLocked(tx, organizationId, 0)
      await changePrivacy(tx, gateway, organizationId, changes)
      if (locked === true) await setPrivacyLocked(tx, organizationId, 1)
      const after = await loadPrivacy(tx, organizationId)
      record({
        action: 'privacy.update',
        target: { type: 'organization', id: organizationId },
        before,
        after,
      })
      return { data: after }
    })
  },
})

export const privacyOperations = [getPrivacy, updatePrivacy]

async function changePrivacy(
  tx: Db,
  { clock }: Gateway,
  organizationId: string,
  changes: Partial<GuardrailSettings>,
): Promise<void> {
  if (Object.keys(changes).length === 0) return
  const { id } = buildOrganizationGuardrail(organizationId)
  const row = await lockOrCreateGuardrail(tx, clock, organizationId, id)
  await assertPrivacyChangeAllowed(tx, row, changes)
  await updateGuardrail(tx, clock, id, changes)
}

async function loadPrivacy(db: Db, organizationId: string): Promise<z.input<typeof privacyRecord>> {
  const { id } = buildOrganizationGuardrail(organizationId)
  const row = await findGuardrail(db, organizationId, id)
  const guardrail = row && parseGuardrail(row)
  return {
    guardrail_id: id,
    enable_free_model_publication: guardrail?.enable_free_model_publication ?? null,
    enable_free_model_training: guardrail?.enable_free_model_training ?? null,
    enable_paid_model_training: guardrail?.enable_paid_model_training ?? null,
    enforce_zdr_vendor_a: guardrail?.enforce_zdr_vendor_a ?? null,
    enforce_zdr_vendor_b: guardrail?.enforce_zdr_vendor_b ?? null,
    enforce_zdr_vendor_c: guardrail?.enforce_zdr_vendor_c ?? null,
    enforce_zdr_vendor_d: guardrail?.enforce_zdr_vendor_d ?? null,
    enforce_zdr_other: guardrail?.enforce_zdr_other ?? null,
    allowed_providers: guardrail?.allowed_providers ?? null,
    ignored_providers: guardrail?.ignored_providers ?? null,
    dry_run: guardrail?.dry_run ?? false,
    locked: await isPrivacyLocked(db, organizationId),
  }
}
