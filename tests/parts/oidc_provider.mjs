// oidc-provider (npm) as an authorization server for tests: node oidc_provider.mjs PACKAGE_JSON SETTINGS_JSON
// Prints its port, then one JSON line for each request to the token, revocation and registration endpoints, with every secret in it.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packageFile, settingsText] = process.argv.slice(2);
const settings = JSON.parse(settingsText);
const require = createRequire(packageFile);
const { default: Provider, errors } = await import(pathToFileURL(require.resolve('oidc-provider')));

const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const { port } = server.address();

// A renewed access token may live longer than the first, so that a test can wait for one to end and not for two.
const life = (ctx) => (ctx.oidc.params?.grant_type === 'refresh_token' ? settings.renewedLife : settings.life);
const SECRETS = ['access_token', 'refresh_token', 'id_token', 'code', 'code_verifier', 'client_secret', 'registration_access_token', 'token'];

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: settings.clients ?? [],
  scopes: ['openid', 'offline_access', 'tools:read', 'tools:write'],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  jwks: { keys: [settings.key] },
  cookies: { keys: ['for tests'] },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: { AccessToken: life, ClientCredentials: settings.life, Interaction: 600, Session: 600, Grant: 86400, RefreshToken: 86400 },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    registrationManagement: { enabled: true },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo(ctx, indicator) {
        if (indicator !== settings.resource) throw new errors.InvalidTarget();
        return {
          scope: 'tools:read tools:write',
          audience: indicator,
          accessTokenTTL: life(ctx),
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        };
      },
    },
  },
});
provider.use(async (ctx, next) => {
  await next();
  if (ctx.path.startsWith('/token') || ctx.path.startsWith('/reg')) {
    const both = [ctx.oidc?.params ?? {}, typeof ctx.body === 'object' ? ctx.body : {}];
    const secrets = both.flatMap((fields) => SECRETS.map((name) => fields[name])).filter((value) => typeof value === 'string');
    console.log(JSON.stringify({ path: ctx.path, grant: ctx.oidc?.params?.grant_type ?? '', status: ctx.status, secrets }));
  }
});
server.on('request', provider.callback());
console.log(port);
