import { Select, Switch, Textarea } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { useWorkspace } from '../../../app/workspace.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { KeySelect } from '../../../components/key-select.tsx'
import { NameField, TextField } from '../../../components/text-field.tsx'
import { issuersOptions, type Policy, useWorkloadRefresh } from './queries.ts'

interface Draft {
  name: string
  issuerId: string | null
  audience: string
  subject: string
  condition: string
  keyHash: string | null
  enabled: boolean
}

function draftOf(policy: Policy | undefined): Draft {
  return {
    name: policy?.name ?? '',
    issuerId: policy?.issuer_id ?? null,
    audience: policy?.audience ?? '',
    subject: policy?.subject ?? '',
    condition: policy?.condition ?? '',
    keyHash: policy?.key_hash ?? null,
    enabled: policy?.enabled ?? true,
  }
}

interface PolicyFormProps {
  /** The policy to edit; without one, a new policy is added. */
  policy?: Policy
  onClose: () => void
}

export function PolicyForm({ policy, onClose }: PolicyFormProps) {
  const refresh = useWorkloadRefresh()
  const [draft, setDraft] = useState(() => draftOf(policy))
  const { name, issuerId, audience, subject, condition, keyHash, enabled } = draft
  const isReady =
    [name, audience].every((text) => text.trim() !== '') &&
    (subject !== '' || condition !== '') &&
    issuerId !== null &&
    keyHash !== null
  const save = async () => {
    if (issuerId === null || keyHash === null) return
    const rule = { subject: subject || null, condition: condition.trim() || null }
    const body = { name: name.trim(), audience: audience.trim(), ...rule, key_hash: keyHash, enabled }
    if (policy)
      await client.PATCH('/workload-identity/policies/{id}', { params: { path: { id: policy.id } }, body })
    else await client.POST('/workload-identity/policies', { body: { ...body, issuer_id: issuerId } })
    await refresh()
  }
  return (
    <FormDialog
      title={policy ? `Edit ${policy.name}` : 'Add a policy'}
      action={policy ? 'Save' : 'Add'}
      size="lg"
      isReady={isReady}
      onSubmit={save}
      onClose={onClose}
    >
      <PolicyFields
        draft={draft}
        isNew={!policy}
        onChange={(changes) => setDraft({ ...draft, ...changes })}
      />
    </FormDialog>
  )
}

interface PolicyFieldsProps {
  draft: Draft
  isNew: boolean
  onChange: (changes: Partial<Draft>) => void
}

function PolicyFields({ draft, isNew, onChange }: PolicyFieldsProps) {
  const issuers = useQuery(issuersOptions).data?.data ?? []
  const { id: workspaceId } = useWorkspace()
  return (
    <>
      <NameField value={draft.name} onChange={(name) => onChange({ name })} />
      <Select
        label="Issuer"
        required
        disabled={!isNew}
        data={issuers.map(({ id, name }) => ({ value: id, label: name }))}
        value={draft.issuerId}
        onChange={(issuerId) => onChange({ issuerId })}
      />
      <TextField
        label="Audience"
        description="The only aud of the token, such as the address of this server"
        required
        maxLength={512}
        value={draft.audience}
        onChange={(audience) => onChange({ audience })}
      />
      <TextField
        label="Subject"
        description="The exact sub of the token. A subject or a condition is required; if both are set, both must match."
        maxLength={1024}
        value={draft.subject}
        onChange={(subject) => onChange({ subject })}
      />
      <Textarea
        label="Condition"
        description={'A CEL expression, such as subject.startsWith("repo:acme/app:")'}
        maxLength={2000}
        autosize
        minRows={2}
        value={draft.condition}
        onChange={(event) => onChange({ condition: event.currentTarget.value })}
      />
      <KeySelect
        label="Acts with the key"
        description="A key of the workspace chosen in the menu. Its limits and guardrails apply."
        workspaceId={workspaceId}
        value={draft.keyHash}
        onChange={(keyHash) => onChange({ keyHash })}
      />
      <Switch
        label="Enabled"
        checked={draft.enabled}
        onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
      />
    </>
  )
}
