import { Input, Loader, Modal, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { useSession } from '../../app/session.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { NameField } from '../../components/text-field.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { draftOfKey, type KeyDraft, toKeyChanges } from './key-draft.ts'
import type { ApiKey } from './key-fields.ts'
import { KeyForm } from './key-form.tsx'
import { type KeyRules, keyRulesOptions } from './key-rules.ts'
import { assignGuardrail, createKeyGuardrail, saveRates, toAllowed } from './save-rules.ts'

interface EditKeyProps {
  apiKey: ApiKey
  onClose: () => void
}

export function EditKey({ apiKey, onClose }: EditKeyProps) {
  const query = useQuery(keyRulesOptions(useSession(), apiKey))
  if (query.data) return <EditForm apiKey={apiKey} rules={query.data} onClose={onClose} />
  return (
    <Modal opened onClose={onClose} title={`Edit ${apiKey.name}`} size="lg">
      {query.error ? <ErrorNotice error={query.error} /> : <Loader size="sm" aria-label="Loading" />}
    </Modal>
  )
}

function EditForm({ apiKey, rules, onClose }: EditKeyProps & { rules: KeyRules }) {
  const refresh = useRefresh()
  const models = rules.guardrail?.guardrail.allowed_models ?? []
  const providers = rules.guardrail?.guardrail.allowed_providers ?? []
  const [draft, setDraft] = useState<KeyDraft>(() =>
    draftOfKey(apiKey, { rates: rules.rates, models, providers }),
  )
  const save = async () => {
    const body = toKeyChanges(apiKey, draft)
    if (Object.keys(body).length > 0)
      await client.PATCH('/keys/{hash}', { params: { path: { hash: apiKey.hash } }, body })
    const isSame = String(draft.models) === String(models) && String(draft.providers) === String(providers)
    if (!isSame) await saveAllowed(apiKey, rules, draft)
    await saveRates(apiKey, rules.rates, draft.rates)
    await refresh('/keys', '/keys/{hash}', '/keys/{hash}/policy', '/budgets', '/limits', '/limits/usage')
  }
  const shared = rules.guardrail && !rules.guardrail.isOwn ? rules.guardrail.guardrail : null
  return (
    <FormDialog
      title={`Edit ${apiKey.name}`}
      action="Save"
      size="lg"
      isReady={draft.name.trim() !== ''}
      onSubmit={save}
      onClose={onClose}
    >
      <NameField maxLength={200} value={draft.name} onChange={(name) => setDraft({ ...draft, name })} />
      <KeyForm
        draft={draft}
        onChange={(changes) => setDraft((before) => ({ ...before, ...changes }))}
        {...(shared && {
          allowed: (
            <Input.Wrapper label="Allowed models and providers">
              <Text size="sm">
                Set by the guardrail{' '}
                <TextLink to="/guardrails/$id" params={{ id: shared.id }}>
                  {shared.name}
                </TextLink>
                , which others share.
              </Text>
            </Input.Wrapper>
          ),
        })}
      />
    </FormDialog>
  )
}

/** Changes the guardrail that only this key has, or gives it one. */
async function saveAllowed(
  { name, hash, workspace_id: workspaceId }: ApiKey,
  { guardrail }: KeyRules,
  allowed: Pick<KeyDraft, 'models' | 'providers'>,
): Promise<void> {
  if (guardrail) {
    const path = { id: guardrail.guardrail.id }
    await client.PATCH('/guardrails/{id}', { params: { path }, body: toAllowed(allowed) })
    return
  }
  await assignGuardrail(await createKeyGuardrail({ name, hash, workspaceId }, allowed), [hash])
}
