import { Badge, Group, Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ActionButton } from '../../../components/action-button.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { Id } from '../../../components/copy.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { Item, ItemList } from '../../../components/item-list.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { TextField } from '../../../components/text-field.tsx'
import { Time } from '../../../components/time.tsx'
import { connectionsOptions, type Domain, domainsOptions, useSsoRefresh } from './queries.ts'

export function Domains() {
  const mayChange = mayDoEverywhere(useSession(), 'sso:write')
  const query = useQuery(domainsOptions)
  return (
    <Panel
      title="E-mail domains"
      description="People can sign in with an address at a verified domain. Unverified domains have no effect."
      actions={
        mayChange && (
          <DialogButton label="Add a domain" variant="default">
            {(close) => <AddDomain onClose={close} />}
          </DialogButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm">None. A connection cannot be used until a domain is verified.</Text>
          ) : (
            <DomainList domains={data} mayChange={mayChange} />
          )
        }
      </QueryView>
    </Panel>
  )
}

function DomainList({ domains, mayChange }: { domains: Domain[]; mayChange: boolean }) {
  return (
    <ItemList>
      {domains.map((domain) => (
        <Item key={domain.id} record={domain} actions={mayChange && <DomainActions domain={domain} />}>
          <Text size="sm" fw={600}>
            {domain.domain}
          </Text>
          <DomainState domain={domain} />
        </Item>
      ))}
    </ItemList>
  )
}

function DomainState({ domain: { verified, verified_by, verified_at, txt_record } }: { domain: Domain }) {
  if (verified) {
    return (
      <Group gap="xs">
        <Badge color="teal" variant="light" tt="none">
          verified
        </Badge>
        <Text size="sm" component="div">
          by {verified_by === 'dns' ? 'its TXT record' : 'the operator'},{' '}
          <Time iso={verified_at} style="age" />
        </Text>
      </Group>
    )
  }
  return (
    <>
      <Badge color="orange" variant="light" tt="none">
        not verified
      </Badge>
      <Text size="sm">Publish this TXT record, then verify:</Text>
      <div>
        <Id value={txt_record.name} label="Copy the name of the record" />
      </div>
      <div>
        <Id value={txt_record.value} label="Copy the value of the record" />
      </div>
    </>
  )
}

function DomainActions({ domain: { id, domain, verified } }: { domain: Domain }) {
  const refresh = useSsoRefresh()
  const params = { path: { id } }
  const verify = async () => {
    await client.POST('/organization/sso/domains/{id}/verify', { params })
    await refresh()
  }
  const remove = async () => {
    await client.DELETE('/organization/sso/domains/{id}', { params })
    await refresh()
  }
  return (
    <Group gap="xs">
      {!verified && (
        <ActionButton label={`Verify ${domain}`} onAction={verify}>
          Verify
        </ActionButton>
      )}
      <DialogButton label="Remove" description={`Remove ${domain}`} color="red" variant="outline">
        {(close) => (
          <ConfirmByName
            title="Remove a domain"
            name={domain}
            action="Remove"
            onConfirm={remove}
            onClose={close}
          >
            New people with an address at this domain can no longer sign in. Existing members still can.
          </ConfirmByName>
        )}
      </DialogButton>
    </Group>
  )
}

function AddDomain({ onClose }: { onClose: () => void }) {
  const refresh = useSsoRefresh()
  const connections = useQuery(connectionsOptions).data?.data ?? []
  const [domain, setDomain] = useState('')
  const [connectionId, setConnectionId] = useState<string | null>(null)
  const add = async () => {
    const body = { domain: domain.trim(), connection_id: connectionId }
    await client.POST('/organization/sso/domains', { body })
    await refresh()
  }
  return (
    <FormDialog
      title="Add a domain"
      action="Add"
      isReady={domain.trim() !== ''}
      onSubmit={add}
      onClose={onClose}
    >
      <TextField
        label="Domain"
        description="For example example.com. Subdomains are separate domains."
        required
        data-autofocus
        maxLength={253}
        value={domain}
        onChange={setDomain}
      />
      {connections.length > 1 && (
        <Select
          label="Connection"
          placeholder="The oldest one"
          clearable
          data={connections.map(({ id, name }) => ({ value: id, label: name }))}
          value={connectionId}
          onChange={setConnectionId}
        />
      )}
    </FormDialog>
  )
}
