import { Accordion, Select, SimpleGrid, Switch, TagsInput } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { SecretInput } from '../../../components/secret-input.tsx'
import { NameField, TextField } from '../../../components/text-field.tsx'
import { buildBody, type ConnectionDraft, draftOf, isReady, newConnectionDraft } from './connection-draft.ts'
import { MappingFields } from './mapping-fields.tsx'
import { type Connection, useSsoRefresh } from './queries.ts'
import { useRoleOptions } from './use-role-options.ts'

interface ConnectionFormProps {
  /** The connection to edit; without one, a new connection is created. */
  connection?: Connection
  onClose: () => void
}

export function ConnectionForm({ connection, onClose }: ConnectionFormProps) {
  const refresh = useSsoRefresh()
  const [draft, setDraft] = useState(() => (connection ? draftOf(connection) : newConnectionDraft))
  const update = (changes: Partial<ConnectionDraft>) => setDraft({ ...draft, ...changes })
  const save = async () => {
    const secret = draft.clientSecret
    const body = buildBody(draft)
    if (connection) {
      const params = { path: { id: connection.id } }
      const changes = { ...body, ...(secret !== '' && { client_secret: secret }) }
      await client.PATCH('/organization/sso/connections/{id}', { params, body: changes })
    } else await client.POST('/organization/sso/connections', { body: { ...body, client_secret: secret } })
    await refresh()
  }
  return (
    <FormDialog
      title={connection ? `Edit ${connection.name}` : 'Add a connection'}
      action={connection ? 'Save' : 'Add'}
      size="xl"
      isReady={isReady(draft, connection)}
      onSubmit={save}
      onClose={onClose}
    >
      <ClientFields draft={draft} stored={connection} onChange={update} />
      <PeopleFields draft={draft} onChange={update} />
      <MappingFields mappings={draft.mappings} onChange={(mappings) => update({ mappings })} />
      <Accordion variant="contained">
        <Accordion.Item value="protocol">
          <Accordion.Control>Scopes, claims and client authentication</Accordion.Control>
          <Accordion.Panel>
            <ProtocolFields draft={draft} onChange={update} />
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </FormDialog>
  )
}

interface FieldsProps {
  draft: ConnectionDraft
  onChange: (changes: Partial<ConnectionDraft>) => void
}

function ClientFields({ draft, stored, onChange }: FieldsProps & { stored: Connection | undefined }) {
  const isOtherIssuer = stored !== undefined && stored.issuer !== draft.issuer.trim()
  return (
    <>
      <NameField
        description="Shown on the sign-in page"
        value={draft.name}
        onChange={(name) => onChange({ name })}
      />
      <TextField
        label="Issuer"
        description="Exactly as in the provider’s metadata, such as https://example.okta.com"
        required
        maxLength={512}
        value={draft.issuer}
        onChange={(issuer) => onChange({ issuer })}
      />
      <TextField
        label="Client id"
        required
        maxLength={512}
        autoComplete="off"
        value={draft.client_id}
        onChange={(client_id) => onChange({ client_id })}
      />
      <SecretInput
        label="Client secret"
        hint={isOtherIssuer ? 'A different issuer requires a new secret.' : undefined}
        isRequired
        stored={isOtherIssuer ? '' : (stored?.client_secret ?? '')}
        value={draft.clientSecret}
        onChange={(clientSecret) => onChange({ clientSecret: clientSecret ?? '' })}
      />
    </>
  )
}

function PeopleFields({ draft, onChange }: FieldsProps) {
  const roles = useRoleOptions()
  return (
    <>
      <Switch
        label="Allow new members"
        description="People with an address at a verified domain become members when they first sign in. Leave this off if SCIM creates your members."
        checked={draft.jit}
        onChange={(event) => onChange({ jit: event.currentTarget.checked })}
      />
      <Select
        label="Role of new members"
        description="In the whole organization, in addition to the mappings"
        data={[{ value: 'org:member', label: 'None besides member' }, ...roles]}
        allowDeselect={false}
        searchable
        value={draft.default_role}
        onChange={(role) => role && onChange({ default_role: role })}
      />
    </>
  )
}

const claimLabels: Record<keyof Connection['claims'], string> = {
  email: 'E-mail address',
  email_verified: 'Whether the address is verified',
  given_name: 'First name',
  family_name: 'Last name',
}

const authOptions = [
  { value: 'client_secret_basic', label: 'In a header (client_secret_basic)' },
  { value: 'client_secret_post', label: 'In the body (client_secret_post)' },
]

function ProtocolFields({ draft, onChange }: FieldsProps) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <TagsInput
        label="Scopes"
        description="Must include openid. Press Enter after each."
        maxTags={50}
        acceptValueOnBlur
        value={draft.scopes}
        onChange={(scopes) => onChange({ scopes })}
      />
      <Select
        label="How the secret is sent"
        description="To the token endpoint of the provider"
        data={authOptions}
        allowDeselect={false}
        value={draft.client_auth}
        onChange={(value) => value && onChange({ client_auth: value as Connection['client_auth'] })}
      />
      {Object.entries(claimLabels).map(([name, label]) => (
        <TextField
          key={name}
          label={`Claim: ${label}`}
          required
          maxLength={256}
          value={draft.claims[name as keyof Connection['claims']]}
          onChange={(claim) => onChange({ claims: { ...draft.claims, [name]: claim } })}
        />
      ))}
    </SimpleGrid>
  )
}
