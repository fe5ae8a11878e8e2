import { Badge, Button, Code, Group, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { Id } from '../../../components/copy.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import { PolicyForm } from './policy-form.tsx'
import { issuersOptions, type Policy, policiesOptions, useRefresh } from './queries.ts'

/** Which tokens act with which key. */
export function Policies() {
  const mayChange = mayDoEverywhere(useSession(), 'workload_identity:write')
  const query = useQuery(policiesOptions)
  const issuers = useQuery(issuersOptions).data?.data ?? []
  const [isAdding, setAdding] = useState(false)
  return (
    <Panel
      title="Policies"
      description="Which tokens of an issuer are exchanged for access with which API key, for at most fifteen minutes. The limits of the key apply."
      actions={
        mayChange &&
        issuers.length > 0 && (
          <Button size="xs" variant="default" onClick={() => setAdding(true)}>
            Add a policy
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm">None. No token is exchanged without a policy.</Text>
          ) : (
            <PolicyTable policies={data} mayChange={mayChange} />
          )
        }
      </QueryView>
      {isAdding && <PolicyForm onClose={() => setAdding(false)} />}
    </Panel>
  )
}

function PolicyTable({ policies, mayChange }: { policies: Policy[]; mayChange: boolean }) {
  const issuers = useQuery(issuersOptions).data?.data ?? []
  const issuerOf = (id: string) => issuers.find((issuer) => issuer.id === id)?.name ?? id
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Policy</Table.Th>
            <Table.Th>Accepts</Table.Th>
            <Table.Th>Acts with</Table.Th>
            {mayChange && <Table.Th>Actions</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {policies.map((policy) => (
            <Table.Tr key={policy.id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
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
                <Text size="sm">{issuerOf(policy.issuer_id)}</Text>
                <Id value={policy.id} />
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Accepted policy={policy} />
              </Table.Td>
              <Table.Td>
                <TextLink to="/keys/$hash" params={{ hash: policy.key_hash }}>
                  {policy.key_hash.slice(0, 12)}…
                </TextLink>
              </Table.Td>
              {mayChange && (
                <Table.Td>
                  <PolicyActions policy={policy} />
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function Accepted({ policy: { audience, subject, condition } }: { policy: Policy }) {
  return (
    <>
      <div>
        audience <Code>{audience}</Code>
      </div>
      {subject !== null && (
        <div>
          subject <Code>{subject}</Code>
        </div>
      )}
      {condition !== null && <Code block>{condition}</Code>}
    </>
  )
}

function PolicyActions({ policy }: { policy: Policy }) {
  const refresh = useRefresh()
  const [open, setOpen] = useState<'edit' | 'delete' | null>(null)
  const close = () => setOpen(null)
  const { id, name } = policy
  const remove = async () => {
    await client.DELETE('/workload-identity/policies/{id}', { params: { path: { id } } })
    await refresh()
  }
  return (
    <Group gap="xs">
      <Button size="xs" variant="default" aria-label={`Edit ${name}`} onClick={() => setOpen('edit')}>
        Edit
      </Button>
      <Button
        size="xs"
        variant="outline"
        color="red"
        aria-label={`Delete ${name}`}
        onClick={() => setOpen('delete')}
      >
        Delete
      </Button>
      {open === 'edit' && <PolicyForm policy={policy} onClose={close} />}
      {open === 'delete' && (
        <ConfirmByName title="Delete a policy" name={name} action="Delete" onConfirm={remove} onClose={close}>
          Workloads get no new access with it. Access that they have stays for at most fifteen minutes;
          disable the key to end it at once.
        </ConfirmByName>
      )}
    </Group>
  )
}
