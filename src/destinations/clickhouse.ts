import { defineDestination, secretField, textField } from './destination.ts'

/** Over its HTTP interface. */
export const clickhouse = defineDestination({
  type: 'clickhouse',
  fields: {
    host: textField
      .regex(/^[^?#]+$/, 'must not have a query')
      .describe('A host name, with or without a port, or an https URL'),
    database: textField,
    username: textField,
    password: secretField,
    table: textField.regex(/^\w+$/, 'must be letters, digits and underscores').default('SERVICE_TRACES'),
  },
  secrets: ['password'],
  address: 'host',
  target: ({ host }) => {
    if (host.includes('://')) return host
    // The port of its HTTP interface under TLS.
    return `https://${/:\d+$/.test(host) ? host : `${host}:8443`}`
  },
  probe: ({ username, password, database, table }, url) => ({
    request: {
      url,
      method: 'POST',
      headers: {
        'x-clickhouse-user': username,
        'x-clickhouse-key': password,
        'x-clickhouse-database': database,
        'content-type': 'text/plain',
      },
      body: `SELECT * FROM \`${table}\` LIMIT 0`,
    },
  }),
})
