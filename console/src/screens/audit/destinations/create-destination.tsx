import { NumberInput, SegmentedControl, Select, Switch } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { SecretInput } from '../../../components/secret-input.tsx'
import { NameField, TextField } from '../../../components/text-field.tsx'
import { PrefixesField, toPrefixes } from './prefixes-field.tsx'
import type { AuditDestination } from './queries.ts'

const emptyDraft = {
  type: 'webhook' as AuditDestination['type'],
  name: '',
  url: '',
  secret: '',
  host: '',
  port: 6514,
  tls: true,
  prefixes: [] as string[],
  chain: 'organization' as AuditDestination['chain'],
}

type Draft = typeof emptyDraft

interface FieldsProps {
  draft: Draft
  onChange: (changes: Partial<Draft>) => void
}

export function CreateDestination({ onClose }: { onClose: () => void }) {
  const refresh = useRefresh()
  const seesInstallation = mayDoEverywhere(useSession(), 'system:read')
  const [draft, setDraft] = useState(emptyDraft)
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes })
  const address = draft.type === 'webhook' ? draft.url : draft.host
  const create = async () => {
    await client.POST('/audit/destinations', { body: buildBody(draft) })
    await refresh('/audit/destinations')
  }
  return (
    <FormDialog
      title="Add a destination"
      action="Add"
      isReady={draft.name.trim() !== '' && address.trim() !== ''}
      onSubmit={create}
      onClose={onClose}
    >
      <SegmentedControl
        aria-label="Type"
        data={[
          { value: 'webhook', label: 'Webhook' },
          { value: 'syslog', label: 'Syslog' },
        ]}
        value={draft.type}
        onChange={(type) => change({ type: type as Draft['type'] })}
      />
      <NameField maxLength={200} value={draft.name} onChange={(name) => change({ name })} />
      {draft.type === 'webhook' ? (
        <WebhookFields draft={draft} onChange={change} />
      ) : (
        <SyslogFields draft={draft} onChange={change} />
      )}
      <PrefixesField value={draft.prefixes} onChange={(prefixes) => change({ prefixes })} />
      {seesInstallation && (
        <Select
          label="Entries"
          data={[
            { value: 'organization', label: 'Entries of the organization' },
            { value: 'installation', label: 'Server events, such as starts and stops' },
          ]}
          allowDeselect={false}
          value={draft.chain}
          onChange={(chain) => chain && change({ chain: chain as Draft['chain'] })}
        />
      )}
    </FormDialog>
  )
}

function WebhookFields({ draft, onChange }: FieldsProps) {
  return (
    <>
      <TextField
        label="URL"
        required
        maxLength={2000}
        value={draft.url}
        onChange={(url) => onChange({ url })}
      />
      <SecretInput
        label="Signing secret"
        hint="Signs messages as Standard Webhooks specifies: whsec_ and 24 to 64 bytes in base64."
        value={draft.secret}
        onChange={(secret) => onChange({ secret: secret ?? '' })}
      />
    </>
  )
}

function SyslogFields({ draft, onChange }: FieldsProps) {
  return (
    <>
      <TextField
        label="Host"
        required
        maxLength={253}
        value={draft.host}
        onChange={(host) => onChange({ host })}
      />
      <NumberInput
        label="Port"
        min={1}
        max={65_535}
        allowDecimal={false}
        value={draft.port}
        onChange={(port) => typeof port === 'number' && onChange({ port })}
      />
      <Switch
        label="TLS"
        description="Without TLS, only hosts in egress.allow_private are allowed."
        checked={draft.tls}
        onChange={(event) => onChange({ tls: event.currentTarget.checked })}
      />
    </>
  )
}

function buildBody({ type, name, url, secret, host, port, tls, prefixes, chain }: Draft) {
  const common = { name: name.trim(), enabled: true, action_prefixes: toPrefixes(prefixes), chain }
  if (type === 'syslog') return { ...common, type, config: { host: host.trim(), port, tls } }
  return { ...common, type, config: { url: url.trim(), ...(secret && { signing_secret: secret }) } }
}
