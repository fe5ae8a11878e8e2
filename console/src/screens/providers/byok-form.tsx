import { Group, PasswordInput, Radio, Select, Stack, TagsInput, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import {
  CredentialTestButton,
  CredentialTestResult,
  useCredentialTest,
} from '../../components/credential-test.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { KeysSelect } from '../../components/key-select.tsx'
import { MemberSelect } from '../../components/member-select.tsx'
import { TargetWorkspace } from '../../components/workspace-scope.tsx'
import { type ByokDraft, changesOf, draftOf, nameOfKey, type Usage, usages } from './byok-fields.ts'
import type { ByokKey } from './queries.ts'

interface ByokFormProps {
  provider: string
  /** None to add one. */
  byokKey?: ByokKey
  onClose: () => void
}

/** Adds or edits a key of one's own. The secret can be tested before it is saved. */
export function ByokForm({ provider, byokKey, onClose }: ByokFormProps) {
  const queryClient = useQueryClient()
  const { current } = useWorkspace()
  const [workspaceId, setWorkspaceId] = useState(byokKey?.workspace_id ?? current?.id ?? null)
  const [before] = useState(() => draftOf(byokKey))
  const [draft, setDraft] = useState(before)
  const workspace = workspaceId === null ? {} : { workspace_id: workspaceId }
  const test = useCredentialTest(() =>
    client.POST('/byok/test', { body: { provider, key: draft.key.trim(), ...workspace } }),
  )
  const set = (changes: Partial<ByokDraft>) => setDraft({ ...draft, ...changes })
  const save = async () => {
    const changes = changesOf(before, draft)
    if (byokKey) await client.PATCH('/byok/{id}', { params: { path: { id: byokKey.id } }, body: changes })
    else await client.POST('/byok', { body: { ...changes, provider, key: draft.key.trim(), ...workspace } })
    await queryClient.invalidateQueries({ queryKey: ['get', '/byok'] })
    await queryClient.invalidateQueries({ queryKey: ['get', '/byok/health'] })
  }
  return (
    <FormDialog
      title={byokKey ? `Edit ${nameOfKey(byokKey)}` : 'Add a BYOK key'}
      action={byokKey ? 'Save' : 'Add the key'}
      isReady={byokKey !== undefined || draft.key.trim() !== ''}
      size="lg"
      onSubmit={save}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="To tell keys apart"
        value={draft.name}
        maxLength={255}
        data-autofocus
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <Group align="flex-end" gap="xs">
        <PasswordInput
          label={byokKey ? 'New secret' : 'Secret'}
          description={`${byokKey ? 'Leave empty to keep the current one. ' : ''}Encrypted when stored, never shown again, and sent to this provider only.`}
          value={draft.key}
          autoComplete="off"
          required={!byokKey}
          style={{ flex: '1 1 240px' }}
          onChange={(event) => set({ key: event.currentTarget.value })}
        />
        <CredentialTestButton
          test={test}
          size="sm"
          disabled={draft.key.trim() === ''}
          label="Test the secret"
        />
      </Group>
      <CredentialTestResult test={test} />
      <Radio.Group
        label="When it is used"
        value={draft.usage}
        onChange={(usage) => set({ usage: usage as Usage })}
      >
        <Stack gap={6} pt={6}>
          {Object.entries(usages).map(([value, label]) => (
            <Radio key={value} value={value} label={label} />
          ))}
        </Stack>
      </Radio.Group>
      {!byokKey && <TargetWorkspace value={workspaceId} onChange={setWorkspaceId} />}
      <LimitFields draft={draft} workspaceId={workspaceId} onChange={set} />
    </FormDialog>
  )
}

interface LimitFieldsProps {
  draft: ByokDraft
  workspaceId: string | null
  onChange: (changes: Partial<ByokDraft>) => void
}

/** Whom and what the key is for. Empty lists restrict nothing. */
function LimitFields({ draft, workspaceId, onChange }: LimitFieldsProps) {
  const session = useSession()
  return (
    <>
      <TagsInput
        label="Only for these models"
        description="For example author/model. Press Enter after each one. Leave empty for every model."
        value={draft.models}
        maxTags={100}
        onChange={(models) => onChange({ models })}
      />
      {mayDo(session, 'keys:read') && (
        <KeysSelect
          label="Only for these API keys"
          description="Leave empty for every key."
          workspaceId={workspaceId}
          value={draft.keyHashes}
          onChange={(keyHashes) => onChange({ keyHashes })}
        />
      )}
      {mayDo(session, 'members:read') && (
        <MemberSelect
          label="Only for requests of these members"
          description="Leave empty for everyone."
          value={draft.members}
          onChange={(members) => onChange({ members })}
        />
      )}
      <Select
        label="Zero data retention"
        description="Your account has a zero data retention agreement with the provider"
        data={[
          { value: 'endpoint', label: 'As the endpoint declares' },
          { value: 'yes', label: 'Yes' },
          { value: 'no', label: 'No' },
        ]}
        allowDeselect={false}
        value={draft.zdr === null ? 'endpoint' : draft.zdr ? 'yes' : 'no'}
        onChange={(value) => onChange({ zdr: value === 'endpoint' ? null : value === 'yes' })}
      />
    </>
  )
}
