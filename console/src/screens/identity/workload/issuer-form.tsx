import { Checkbox, Group } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { NameField, TextField } from '../../../components/text-field.tsx'
import { type Issuer, useWorkloadRefresh } from './queries.ts'

type Algorithm = Issuer['algorithms'][number]

const algorithms: Algorithm[] = ['ES256', 'RS256']

interface IssuerFormProps {
  /** The issuer to edit; without one, a new issuer is added. */
  issuer?: Issuer
  onClose: () => void
}

export function IssuerForm({ issuer, onClose }: IssuerFormProps) {
  const refresh = useWorkloadRefresh()
  const [name, setName] = useState(issuer?.name ?? '')
  const [address, setAddress] = useState(issuer?.issuer ?? '')
  const [keys, setKeys] = useState(issuer?.jwks_uri ?? '')
  const [accepted, setAccepted] = useState<Algorithm[]>(issuer?.algorithms ?? algorithms)
  const save = async () => {
    const fields = { name: name.trim(), jwks_uri: keys.trim() || null, algorithms: accepted }
    if (issuer) {
      const params = { path: { id: issuer.id } }
      await client.PATCH('/workload-identity/issuers/{id}', { params, body: fields })
    } else {
      await client.POST('/workload-identity/issuers', { body: { ...fields, issuer: address.trim() } })
    }
    await refresh()
  }
  return (
    <FormDialog
      title={issuer ? `Edit ${issuer.name}` : 'Add an issuer'}
      action={issuer ? 'Save' : 'Add'}
      isReady={name.trim() !== '' && address.trim() !== '' && accepted.length > 0}
      onSubmit={save}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <TextField
        label="Issuer"
        description={
          issuer ? 'Cannot be changed.' : 'Exactly the iss of its tokens, such as https://gitlab.example.com'
        }
        required
        disabled={issuer !== undefined}
        maxLength={512}
        value={address}
        onChange={setAddress}
      />
      <TextField
        label="Address of its keys"
        description="Leave empty to read it from /.well-known/openid-configuration"
        maxLength={512}
        value={keys}
        onChange={setKeys}
      />
      <Checkbox.Group
        label="Accepted signatures"
        value={accepted}
        onChange={(values) => setAccepted(algorithms.filter((algorithm) => values.includes(algorithm)))}
      >
        <Group pt={4}>
          {algorithms.map((algorithm) => (
            <Checkbox key={algorithm} value={algorithm} label={algorithm} />
          ))}
        </Group>
      </Checkbox.Group>
    </FormDialog>
  )
}
