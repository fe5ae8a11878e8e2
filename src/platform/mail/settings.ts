import { z } from 'zod'
import { secretField } from '../validation/setting-fields.ts'

const loopbackHosts = ['localhost', '127.0.0.1', '::1']

/** The operator's mail server. */
export const smtpSettings = z
  .strictObject({
    host: z.string().min(1).max(253),
    port: z.int().min(1).max(65_535).default(587),
    /** `starttls` and `implicit` require encryption and a valid certificate. */
    tls: z.enum(['starttls', 'implicit', 'none']).default('starttls'),
    user: z.string().min(1).max(500).optional(),
    password: secretField(z.string().min(1).max(500)).optional(),
    /** The sender: an address, or `Name <address>`. */
    from: z
      .string()
      .max(320)
      .regex(/^(?:[^<>\r\n]{0,100} )?<?[^\s<>@,;]+@[^\s<>@,;]+>?$/, 'must be an address, or Name <address>'),
  })
  .superRefine(({ host, tls, user, password }, context) => {
    if ((user === undefined) !== (password === undefined))
      context.addIssue({ code: 'custom', path: ['user'], message: 'and password are set together' })
    if (tls === 'none' && password !== undefined && !loopbackHosts.includes(host))
      context.addIssue({
        code: 'custom',
        path: ['tls'],
        message: 'must be starttls or implicit: the password would be sent without encryption',
      })
  })

export type SmtpSettings = z.output<typeof smtpSettings>
