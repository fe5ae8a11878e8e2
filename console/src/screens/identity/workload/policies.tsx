import { Badge, Code, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { client } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { Id } from '../../../components/copy.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { Fields } from '../../../components/fields.tsx'
import { Item, ItemList } from '../../../components/item-list.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import { PolicyForm } from './policy-form.tsx'
import { issuersOptions, type Policy, policiesOptions, useWorkloadRefresh } from './queries.ts'

/** Lists the policies that let tokens act with a key. */
export function Policies() {
  const mayChange = mayDoEverywhere(useSession(), 'workload_identity:write')
  const query = useQuery(policiesOptions)
  const issuers = useQuery(issuersOptions).data?.data ?? []
  return (
    <Panel
      title="Policies"
      description="Map the tokens of an issuer to an API key. Access lasts at most 15 minutes, and the limits of the key apply."
      actions={
        mayChange &&
        issuers.length > 0 && (
          <DialogButton label="Add a policy" variant="default">
            {(close) => <PolicyForm onClose={close} />}
          </DialogButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm">No policies. Tokens are only accepted with a policy.</Text>
          ) : (
            <PolicyList policies={data} mayChange={mayChange} />
          )
        }
      </QueryView>
    </Panel>
  )
}

function PolicyList({ policies, mayChange }: { policies: Policy[]; mayChange: boolean }) {
  const issuers = useQuery(issuersOptions).data?.data ?? []
  const issuerOf = (id: string) => issuers.find((issuer) => issuer.id === id)?.name ?? id
  return (
    <ItemList>
      {policies.map((policy) => (
        <Item key={policy.id} record={policy} actions={mayChange && <PolicyActions policy={policy} />}>
          <Group gap="xs">
            <Text size="sm" fw={600}>
              {policy.name}
            </Text>
            {!policy.enabled && (
              <Badge color="gray" variant="light" tt="none">
                off
              </Badge>
            )}
          </Group>
          <Id value={policy.id} />
          <Accepted policy={policy} issuer={issuerOf(policy.issuer_id)} />
        </Item>
      ))}
    </ItemList>
  )
}

function Accepted({ policy, issuer }: { policy: Policy; issuer: string }) {
  const { audience, subject, condition, key_hash } = policy
  const codes = { Audience: audience, Subject: subject, Condition: condition }
  const key = (
    <TextLink to="/keys/$hash" params={{ hash: key_hash }}>
      {key_hash.slice(0, 12)}…
    </TextLink>
  )
  const rule = Object.entries(codes).filter(([, text]) => text !== null)
  return (
    <Fields
      fields={[
        ['Issuer', issuer],
        ...rule.map(([name, text]): [string, ReactNode] => [name, <Code key={name}>{text}</Code>]),
        ['Acts with the key', key],
      ]}
    />
  )
}

function PolicyActions({ policy }: { policy: Policy }) {
  const refresh = useWorkloadRefresh()
  const { id, name } = policy
  const remove = async () => {
    await client.DELETE('/workload-identity/policies/{id}', { params: { path: { id } } })
    await refresh()
  }
  return (
    <Group gap="xs">
      <DialogButton label="Edit" description={`Edit ${name}`} variant="default">
        {(close) => <PolicyForm policy={policy} onClose={close} />}
      </DialogButton>
      <DialogButton label="Delete" description={`Delete ${name}`} color="red" variant="outline">
        {(close) => (
          <ConfirmByName
            title="Delete a policy"
            name={name}
            action="Delete"
            onConfirm={remove}
            onClose={close}
          >
            Workloads can no longer get access. Existing access ends within 15 minutes; disable the key to end
            it immediately.
          </ConfirmByName>
        )}
      </DialogButton>
    </Group>
  )
}
