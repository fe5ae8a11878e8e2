import { Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { allPages } from '../../api/all-pages.ts'
import { api, client } from '../../api/client.ts'
import type { paths } from '../../api/schema.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { type KeyLimit, KeyLimitFields, toKeyLimit } from '../../components/key-limit-fields.tsx'
import { type Priority, PrioritySelect } from '../../components/priority-select.tsx'
import { NameField, TextField } from '../../components/text-field.tsx'
import { TierSelect } from '../../components/tier-select.tsx'
import { TargetWorkspace } from '../../components/workspace-scope.tsx'
import { endOfDay } from './key-fields.ts'
import { type NewKey, NewKeySecret } from './new-key-secret.tsx'

interface Draft extends KeyLimit {
  name: string
  lastDay: string
  /** Null: the default one. */
  tier: string | null
  priority: Priority
  workspaceId: string | null
  guardrailId: string | null
}

/** A form, and then the secret of the key. */
export function CreateKey({ onClose }: { onClose: () => void }) {
  const { current } = useWorkspace()
  const [draft, setDraft] = useState<Draft>({
    name: '',
    limit: null,
    limit_reset: null,
    include_byok_in_limit: false,
    lastDay: '',
    tier: null,
    priority: 'normal',
    workspaceId: current?.id ?? null,
    guardrailId: null,
  })
  const [created, setCreated] = useState<NewKey | null>(null)
  if (created) return <NewKeySecret created={created} onClose={onClose} />
  return (
    <FormDialog
      title="Create an API key"
      action="Create"
      isReady={draft.name.trim() !== ''}
      onSubmit={() => createKey(bodyOf(draft), draft.guardrailId)}
      onDone={setCreated}
      onClose={onClose}
    >
      <DraftFields draft={draft} onChange={(changes) => setDraft({ ...draft, ...changes })} />
    </FormDialog>
  )
}

function bodyOf({ name, lastDay, tier, priority, workspaceId, ...limit }: Draft): KeyBody {
  return {
    name,
    ...toKeyLimit(limit),
    expires_at: endOfDay(lastDay),
    ...(tier !== null && { tier }),
    ...(priority !== 'normal' && { priority }),
    ...(workspaceId !== null && { workspace_id: workspaceId }),
  }
}

interface DraftFieldsProps {
  draft: Draft
  onChange: (changes: Partial<Draft>) => void
}

function DraftFields({ draft, onChange }: DraftFieldsProps) {
  const session = useSession()
  return (
    <>
      <NameField
        description="The application or the person that will use it"
        value={draft.name}
        maxLength={200}
        onChange={(name) => onChange({ name })}
      />
      <KeyLimitFields value={draft} onChange={onChange} />
      <TierSelect placeholder="Default" value={draft.tier} onChange={(tier) => onChange({ tier })} />
      <PrioritySelect value={draft.priority} onChange={(priority) => onChange({ priority })} />
      <TextField
        type="date"
        label="Expires"
        description="Empty for no expiry. It ends at midnight UTC and cannot be changed later."
        value={draft.lastDay}
        onChange={(lastDay) => onChange({ lastDay })}
      />
      <TargetWorkspace
        value={draft.workspaceId}
        onChange={(workspaceId) => onChange({ workspaceId, guardrailId: null })}
      />
      {mayDo(session, 'guardrails:write') && (
        <GuardrailSelect
          workspaceId={draft.workspaceId}
          value={draft.guardrailId}
          onChange={(guardrailId) => onChange({ guardrailId })}
        />
      )}
    </>
  )
}

interface GuardrailSelectProps {
  workspaceId: string | null
  value: string | null
  onChange: (id: string | null) => void
}

function GuardrailSelect({ workspaceId, value, onChange }: GuardrailSelectProps) {
  const query = workspaceId === null ? {} : { workspace_id: workspaceId }
  const guardrails = useQuery(allPages(api.queryOptions('get', '/guardrails', { params: { query } })))
  const options = (guardrails.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))
  if (options.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        The workspace has no guardrail that could be assigned to the key.
      </Text>
    )
  }
  return (
    <Select
      label="Guardrail"
      description="Besides those of the organization, the workspace and you"
      placeholder="None"
      clearable
      searchable
      limit={100}
      data={options}
      value={value}
      onChange={onChange}
    />
  )
}

type KeyBody = paths['/keys']['post']['requestBody']['content']['application/json']

/** A key that could not get its guardrail exists nevertheless, so its secret is returned with the error. */
async function createKey(body: KeyBody, guardrailId: string | null): Promise<NewKey> {
  const { data } = await client.POST('/keys', { body })
  if (!data) throw new Error('The server returned no key.')
  const created = { name: data.data.name, hash: data.data.hash, secret: data.key, guardrailError: null }
  if (guardrailId === null) return created
  try {
    await client.POST('/guardrails/{id}/assignments/keys', {
      params: { path: { id: guardrailId } },
      body: { key_hashes: [data.data.hash] },
    })
    return created
  } catch (guardrailError) {
    return { ...created, guardrailError }
  }
}
