import { createAuth0 } from '@auth0/auth0-vue';
import { createApp } from 'vue';
import App from './App.vue';

createApp(App)
  .use(
    createAuth0({
      domain: 'http://localhost:4400',
      clientId: 'example-vue',
      authorizationParams: {
        redirect_uri: window.location.origin,
        audience: 'http://localhost:4500/',
        scope: 'openid profile email read:repo_hook',
      },
    }),
  )
  .mount('#app');
