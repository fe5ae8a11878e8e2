import { PasswordInput, SegmentedControl, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { CredentialTestButton, CredentialTestResult, useCredentialTest } from '../credential-test.tsx'
import { FormDialog } from '../form-dialog.tsx'
import { refreshCatalog } from '../refresh-catalog.ts'
import { TargetWorkspace } from '../workspace-scope.tsx'

const owners = [
  { value: 'installation', label: 'Everybody on this server' },
  { value: 'workspace', label: 'One workspace' },
]

interface ListedFormProps {
  provider: Schemas['ProviderHealth']
  onBack: () => void
  onClose: () => void
  onAdded: (slug: string) => void
}

/** Stores a key for a provider of the catalog, for all requests or as the BYOK key of a workspace. */
export function ListedForm({ provider, onBack, onClose, onAdded }: ListedFormProps) {
  const { provider: slug, provider_name: name, state } = provider
  const session = useSession()
  const queryClient = useQueryClient()
  const { current } = useWorkspace()
  const mayShare = mayDoEverywhere(session, 'catalogue:write')
  const mayOwn = mayDo(session, 'byok:write')
  const [owner, setOwner] = useState(mayShare ? 'installation' : 'workspace')
  const [workspaceId, setWorkspaceId] = useState(current?.id ?? null)
  const [key, setKey] = useState('')
  const workspace = workspaceId === null ? {} : { workspace_id: workspaceId }
  const test = useCredentialTest(() => testKey(slug, key.trim(), mayOwn ? workspace : null))
  const isShared = owner === 'installation'
  const save = async () => {
    if (isShared) await saveInstallationKey(slug, key.trim())
    else await client.POST('/byok', { body: { provider: slug, key: key.trim(), ...workspace } })
    await refreshCatalog(queryClient)
    await queryClient.invalidateQueries({ queryKey: ['get', '/byok'] })
  }
  return (
    <FormDialog
      title={`Add ${name}`}
      action="Add"
      isReady={key.trim() !== ''}
      onSubmit={save}
      onDone={() => onAdded(slug)}
      onBack={onBack}
      onClose={onClose}
    >
      <PasswordInput
        label="API key"
        description="Encrypted when stored, never shown again, and sent to this provider only."
        value={key}
        required
        data-autofocus
        autoComplete="off"
        onChange={(event) => {
          setKey(event.currentTarget.value)
          test.reset()
        }}
      />
      {mayShare && mayOwn && (
        <SegmentedControl aria-label="Used by" data={owners} value={owner} onChange={setOwner} />
      )}
      {!isShared && <TargetWorkspace value={workspaceId} onChange={setWorkspaceId} />}
      <Text size="sm" c="dimmed">
        {describeUse(isShared, state !== 'no_credential')}
      </Text>
      <CredentialTestButton
        test={test}
        size="sm"
        disabled={key.trim() === ''}
        label={`Test the key of ${name}`}
      />
      <CredentialTestResult test={test} />
    </FormDialog>
  )
}

function describeUse(isShared: boolean, isConfigured: boolean): string {
  if (!isShared) return 'A BYOK key: the provider bills your account for the requests of this workspace.'
  const use = 'Used for the requests of every organization without a key of its own.'
  return isConfigured ? `${use} It replaces the current server key.` : use
}

/** A small request shows more than the list of models, which some providers return for any key. */
async function testKey(slug: string, key: string, workspace: { workspace_id?: string } | null) {
  if (workspace) return client.POST('/byok/test', { body: { provider: slug, key, ...workspace } })
  const { data } = await client.POST('/catalogue/providers/{slug}/inspect', {
    params: { path: { slug } },
    body: { api_key: key },
  })
  return data ? { data: { data: data.data.test } } : {}
}

/** Keeps the other fields of an edit, which the request replaces as a whole. */
async function saveInstallationKey(slug: string, key: string): Promise<void> {
  const params = { path: { slug } }
  const { data } = await client.GET('/catalogue/providers/{slug}', { params })
  const body = { ...data?.data.edit?.fields, api_key: key }
  await client.PUT('/catalogue/providers/{slug}', { params, body })
}
